/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_nan_signs.c - the sign of a NaN: what came from memory and is only negated, chosen,
 * converted or given another sign has the sign that semantics.md says, on every device and however
 * it is cut into kernels. A device that is emulated loses signs where a GPU does. */
#include <fusec/fusec.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base.h"
#include "tests/support/capi.h"
#include "tests/support/fake_machine.h"
#include "tests/support/test.h"

/* x and y: numbers and NaNs of both signs and kinds, in every pair. */
enum { KINDS = 10, N = KINDS * KINDS, MOST = 16 };

typedef struct layout {
    fusec_dtype dtype, word;
    uint64_t bits[KINDS]; /* from the third on NaNs */
} layout;

static const layout layouts[] = {
    {FUSEC_F16,
     FUSEC_U16,
     {0x3c00, 0xbc00, 0x7e00, 0xfe00, 0x7d01, 0xfd01, 0x7fff, 0xffff, 0x7c01, 0xfc01}},
    {FUSEC_BF16,
     FUSEC_U16,
     {0x3f80, 0xbf80, 0x7fc0, 0xffc0, 0x7f81, 0xff81, 0x7fff, 0xffff, 0x7f90, 0xff90}},
    {FUSEC_F32,
     FUSEC_U32,
     {0x3f800000, 0xbf800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff,
      0xffffffff, 0x7f801000, 0xff801000}},
    {FUSEC_F64,
     FUSEC_U64,
     {0x3ff0000000000000, 0xbff0000000000000, 0x7ff8000000000000, 0xfff8000000000000,
      0x7ff0000000000001, 0xfff0000000000001, 0x7fffffffffffffff, 0xffffffffffffffff,
      0x7ff0000020000000, 0xfff0000020000000}},
};

typedef struct question {
    fusec_value value;
    const char *what;
    bool of_y, flipped, chooses; /* the sign: of x or y, the other one, of x where n is even */
} question;

typedef struct sheet {
    const layout *l;
    uint64_t x[N], y[N]; /* bits, packed by put() */
    uint8_t even[N];
    question q[MOST];
    int n;
} sheet;

static void put(void *at, fusec_dtype t, int i, uint64_t bits) {
    size_t bytes = fusec_dtype_bytes(t);
    memcpy((char *)at + (size_t)i * bytes, &bits, bytes);
}

static void ask(sheet *s, const char *what, fusec_value v, bool of_y, bool flipped, bool chooses) {
    s->q[s->n++] = (question){v, what, of_y, flipped, chooses};
}

/* `cut` ends a kernel where the fused form would go on. */
static fusec_value perhaps(fusec_value v, bool cut) {
    return cut ? fusec_materialize(v) : v;
}

static void questions(sheet *s, fusec_graph *g, bool cut) {
    const fusec_dtype t = s->l->dtype, wide = t == FUSEC_F64 ? FUSEC_F32 : FUSEC_F64,
                      other = t == FUSEC_F32 ? FUSEC_F16 : FUSEC_F32;
    const int64_t n = N;
    fusec_value x = fusec_array(g, t, 1, &n, s->x), y = fusec_array(g, t, 1, &n, s->y),
                even = fusec_array(g, FUSEC_BOOL, 1, &n, s->even),
                minus = perhaps(fusec_neg(y), cut), one = fusec_const(g, t, 1),
                chosen = perhaps(fusec_where(even, x, minus), cut);
    s->n = 0;
    ask(s, "y", fusec_copysign(one, y), true, false, false);
    ask(s, "-y", minus, true, true, false);
    ask(s, "copysign(1, -y)", fusec_copysign(one, minus), true, true, false);
    ask(s, "copysign(x, y)", fusec_copysign(x, y), true, false, false);
    ask(s, "where(even, x, -y)", chosen, true, true, true);
    ask(s, "copysign(1, where(even, x, -y))", fusec_copysign(one, chosen), true, true, true);
    ask(s, "-where(even, x, -y) twice", fusec_neg(fusec_neg(chosen)), true, true, true);
    ask(s, "bits of -y", fusec_bitcast(minus, s->l->word), true, true, false);
    ask(s, "converted", fusec_cast(x, other), false, false, false);
    ask(s, "copysign(1, converted)",
        fusec_copysign(fusec_const(g, other, 1), perhaps(fusec_cast(x, other), cut)), false, false,
        false);
    ask(s, "-converted", fusec_copysign(one, fusec_cast(fusec_neg(fusec_cast(y, wide)), t)), true,
        true, false);
}

static bool negative(const question *q, const void *data, int i) {
    size_t bytes = fusec_dtype_bytes(fusec_dtype_of(q->value));
    uint64_t bits = 0;
    memcpy(&bits, (const char *)data + (size_t)i * bytes, bytes);
    return bits >> (8 * bytes - 1) & 1;
}

static void check(fusec_context *ctx, sheet *s, bool cut) {
    fusec_graph *g = NULL;
    fusec_value all[MOST];
    uint64_t got[N];
    FC_EXPECT_OK_TEXT(fusec_graph_new(ctx, &g), fusec_message(ctx));
    if (!g) return;
    questions(s, g, cut);
    for (int k = 0; k < s->n; k++) all[k] = s->q[k].value;
    FC_EXPECT_OK_TEXT(fusec_eval(all, s->n), fusec_message(ctx));
    for (int k = 0; k < s->n; k++) {
        const question *q = &s->q[k];
        size_t bytes = fusec_dtype_bytes(fusec_dtype_of(q->value));
        FC_EXPECT_OK_TEXT(fusec_read(q->value, got, N * bytes), fusec_message(ctx));
        for (int i = 0; i < N; i++) {
            bool x = q->of_y && !(q->chooses && s->even[i]) ? false : true;
            bool want = (x ? i / KINDS : i % KINDS) % 2 != 0;
            if (q->flipped && !x) want = !want;
            if (negative(q, got, i) == want) continue;
            FC_FAIL("%s, x %#llx, y %#llx: the sign is wrong", q->what,
                    (unsigned long long)s->l->bits[i / KINDS],
                    (unsigned long long)s->l->bits[i % KINDS]);
            break;
        }
    }
    fusec_graph_free(g);
}

static bool on_device(const char *name) {
    fusec_context *ctx = capi_device(name);
    const bool there = ctx != NULL;
    for (size_t t = 0; there && t < FC_COUNT(layouts); t++) {
        sheet s = {.l = &layouts[t]};
        for (int i = 0; i < N; i++) {
            put(s.x, s.l->dtype, i, s.l->bits[i / KINDS]);
            put(s.y, s.l->dtype, i, s.l->bits[i % KINDS]);
            s.even[i] = i % 3 == 0;
        }
        for (int cut = 0; cut < 2; cut++) {
            FC_TRACE("%s, %s%s", name, fusec_dtype_name(s.l->dtype), cut ? ", cut" : "");
            check(ctx, &s, cut);
            FC_UNTRACE();
        }
    }
    fusec_context_free(ctx);
    return there;
}

static void device(void *arg) {
    if (!on_device(arg)) FC_SKIP("no %s here", (const char *)arg);
}

FC_REGISTER(nan_signs) {
    static const char *const devices[] = {"interp", "cpu", "cuda"};
    for (size_t i = 0; i < FC_COUNT(devices); i++)
        FC_ADD_TEST("nan_signs", devices[i], device, (void *)(uintptr_t)devices[i]);
}

FC_TEST(nan_signs, behind_a_fake_driver) {
    fake_machine m;
    if (!fake_can_execute()) FC_SKIP("no C++ compiler, or under AddressSanitizer");
    if (!fake_machine_open(&m, FAKE("whole"))) return;
    m.fake->execute = true;
    FC_EXPECT_TRUE(on_device("cuda"));
    fake_check_balance(&m, false);
    fake_machine_close(&m);
}
