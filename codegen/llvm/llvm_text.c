/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_text.c - names, types, literals, the parameter block and control flow of the emitted text.
 *
 * In: the requests of the other files. Out: lines in f->head and f->body, put together by
 * fc_ll_end. Every name is new, so text made in any order stays SSA; what a name needs dominates it
 * because blocks are written in the order in which they run and loops leave only through their
 * header. */
#include "codegen/llvm/llvm_text.h"

#include <stdio.h>

#include "codegen/llvm/llvm_math.h"
#include "ir/plant.h"

/* ---- life ------------------------------------------------------------------------------------ */

static bool converts_half(const fc_machine *m) {
    if (m->features) {
        if (strstr(m->features, "+f16c") || strstr(m->features, "+neon")) return true;
        if (strstr(m->features, "-f16c") || !m->cpu) return false;
    }
    if (m->cpu) return strstr(m->cpu, "x86-64-v3") || strstr(m->cpu, "x86-64-v4");
    return (m->host_features & (FC_CPU_F16C | FC_CPU_NEON)) != 0;
}

void fc_ll_init(fc_ll *f, const fc_machine *m, const fc_kernel *k, const fc_class *cls,
                const char *name, const fc_alloc *alloc) {
    memset(f, 0, sizeof *f);
    f->alloc = alloc;
    f->m = m;
    f->k = k;
    f->cls = cls;
    f->name = name;
    f->V = cls->vector;
    f->half = converts_half(m);
    f->math = fc_math_rewrite(m);
    fc_arena_init(&f->arena, alloc);
    fc_code_init(&f->code, alloc);
    fc_code_init(&f->elsewhere.code, alloc);
    fc_loops_init(&f->loops, alloc);
    fc_str *text[] = {&f->head,  &f->body,       &f->module,     &f->helpers,
                      &f->decls, &f->aside.head, &f->aside.body, &f->word};
    for (size_t i = 0; i < FC_COUNT(text); i++) fc_str_init(text[i], alloc);
    f->lay = fc_layout_of((uint32_t)k->args.len, (uint32_t)cls->np + cls->nr, cls->naccess,
                          (uint32_t)k->params.len);
}

void fc_ll_free(fc_ll *f) {
    fc_str *text[] = {&f->head,  &f->body,       &f->module,     &f->helpers,
                      &f->decls, &f->aside.head, &f->aside.body, &f->word};
    for (size_t i = 0; i < FC_COUNT(text); i++) fc_str_free(text[i]);
    fc_code_free(&f->code);
    fc_code_free(&f->elsewhere.code);
    fc_inside_free(&f->inside);
    fc_ll_free_rounds(f);
    fc_loops_free(&f->loops);
    fc_arena_free(&f->arena);
}

_Noreturn void fc_ll_fail(fc_ll *f, fusec_status code) {
    f->status = code;
    longjmp(f->leave, 1);
}

void *fc_ll_alloc(fc_ll *f, size_t size) {
    void *p = fc_arena_alloc(&f->arena, size ? size : 1);
    if (!p) fc_ll_fail(f, FUSEC_OUT_OF_MEMORY);
    return p;
}

const char **fc_ll_names(fc_ll *f, size_t n) {
    return fc_ll_alloc(f, n * sizeof(const char *));
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const char *format(fc_ll *f, const char *fmt, va_list ap) {
    fc_str_clear(&f->word);
    fc_str_vprintf(&f->word, fmt, ap);
    if (f->word.oom) fc_ll_fail(f, FUSEC_OUT_OF_MEMORY);
    return memcpy(fc_ll_alloc(f, f->word.len + 1), f->word.data, f->word.len + 1);
}

const char *fc_ll_fmt(fc_ll *f, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = format(f, fmt, ap);
    va_end(ap);
    return text;
}

static const char *define(fc_ll *f, fc_str *out, const char *fmt, va_list ap) {
    const char *name = fc_ll_fmt(f, "%%t%u", f->next++);
    fc_str_add(out, "  ");
    fc_str_add(out, name);
    fc_str_add(out, " = ");
    fc_str_vprintf(out, fmt, ap);
    fc_str_char(out, '\n');
    return name;
}

const char *fc_ll_ins(fc_ll *f, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *name = define(f, &f->body, fmt, ap);
    va_end(ap);
    return name;
}

const char *fc_ll_head(fc_ll *f, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *name = define(f, &f->head, fmt, ap);
    va_end(ap);
    return name;
}

void fc_ll_line(fc_ll *f, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fc_str_add(&f->body, "  ");
    fc_str_vprintf(&f->body, fmt, ap);
    fc_str_char(&f->body, '\n');
    va_end(ap);
}

void fc_ll_declare(fc_ll *f, const char *line) {
    const char *whole = fc_ll_fmt(f, "declare %s\n", line);
    if (!strstr(f->decls.data, whole)) fc_str_add(&f->decls, whole);
}

/* ---- types and literals ---------------------------------------------------------------------- */

const char *fc_ll_wide(fc_ll *f, const char *scalar, unsigned W) {
    return W == 1 ? scalar : fc_ll_fmt(f, "<%u x %s>", W, scalar);
}

static const char *computed(fusec_dtype t) {
    return t == FUSEC_BOOL ? "i1" : fc_is_half(t) ? "float" : fc_dtypes[t].llvm;
}

const char *fc_ll_type(fc_ll *f, fusec_dtype t, unsigned W) {
    return fc_ll_wide(f, computed(t), W);
}

const char *fc_ll_stored(fc_ll *f, fusec_dtype t, unsigned W) {
    return fc_ll_wide(f, fc_dtypes[t].llvm, W);
}

const char *fc_ll_suffix(fc_ll *f, const char *scalar, unsigned W) {
    const char *s = !strcmp(scalar, "float") ? "f32" : !strcmp(scalar, "double") ? "f64" : scalar;
    if (!strcmp(scalar, "ptr")) s = "p0";
    return W == 1 ? s : fc_ll_fmt(f, "v%u%s", W, s);
}

/* A vector constant is spelled once a function: an instruction of the entry block that every pass
 * list folds back into the constant, so that the machine code is that of a literal. ("splat (...)"
 * came with LLVM 19.) */
static const char *constant(fc_ll *f, const char *text) {
    uint32_t hash = 2166136261u;
    for (const char *c = text; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    fc_ll_constant **at = &f->constants[hash % FC_LL_CONSTANTS];
    for (const fc_ll_constant *c = *at; c; c = c->next)
        if (!strcmp(c->text, text)) return c->name;
    fc_ll_constant *c = fc_ll_alloc(f, sizeof *c);
    *c = (fc_ll_constant){.text = text, .name = fc_ll_head(f, "%s", text), .next = *at};
    *at = c;
    return c->name;
}

static const char *repeat(fc_ll *f, const char *type, const char *literal, unsigned W) {
    if (W == 1) return literal;
    if (!strcmp(literal, "0")) return "zeroinitializer";
    return constant(f, fc_ll_fmt(f,
                                 "shufflevector <1 x %s> <%s %s>, <1 x %s> poison, <%u x i32> "
                                 "zeroinitializer",
                                 type, type, literal, type, W));
}

/* LLVM writes a float literal as the bits of the double of the same value. A nan is widened by
 * hand: a conversion would make it quiet. */
static uint64_t double_bits(float v) {
    uint32_t b;
    memcpy(&b, &v, sizeof b);
    if (v != v)
        return (uint64_t)(b >> 31) << 63 | (uint64_t)0x7ff << 52 | (uint64_t)(b & 0x7fffff) << 29;
    double d = v;
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

static float float_of(fusec_dtype t, uint64_t bits) {
    if (t == FUSEC_F16) return fc_half_to_float((uint16_t)bits);
    if (t == FUSEC_BF16) return fc_bf16_to_float((uint16_t)bits);
    uint32_t b = (uint32_t)bits;
    float v;
    memcpy(&v, &b, sizeof v);
    return v;
}

static const char *scalar_literal(fc_ll *f, fusec_dtype t, uint64_t bits) {
    if (t == FUSEC_BOOL) return bits & 1 ? "true" : "false";
    if (fc_is_float(t)) {
        uint64_t d = t == FUSEC_F64 ? bits : double_bits(float_of(t, bits));
        return fc_ll_fmt(f, "0x%016llX", (unsigned long long)d);
    }
    unsigned shift = 64u - 8u * fc_dtypes[t].bytes;
    return fc_ll_fmt(f, "%lld", (long long)((int64_t)(bits << shift) >> shift));
}

const char *fc_ll_const(fc_ll *f, fusec_dtype t, uint64_t bits, unsigned W) {
    return repeat(f, computed(t), scalar_literal(f, t, bits), W);
}

const char *fc_ll_int(fc_ll *f, unsigned bits, int64_t v, unsigned W) {
    return repeat(f, fc_ll_fmt(f, "i%u", bits), fc_ll_fmt(f, "%lld", (long long)v), W);
}

static const char *list(fc_ll *f, unsigned bits, unsigned n, const unsigned *lane) {
    char *text = fc_ll_alloc(f, (size_t)n * 24 + 3);
    size_t at = 1;
    text[0] = '<';
    for (unsigned i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, 24, "%si%u %u", i ? ", " : "", bits, lane[i]);
    text[at] = '>';
    return text;
}

static const unsigned *lanes(fc_ll *f, unsigned n, unsigned first, unsigned step, unsigned wrap) {
    unsigned *lane = fc_ll_alloc(f, n * sizeof *lane);
    for (unsigned i = 0; i < n; i++) lane[i] = (first + i * step) % wrap;
    return lane;
}

const char *fc_ll_lanes(fc_ll *f, unsigned bits, unsigned n, unsigned first, unsigned step,
                        unsigned wrap) {
    return list(f, bits, n, lanes(f, n, first, step, wrap));
}

const char *fc_ll_shuffle(fc_ll *f, const char *type, const char *a, const char *b, unsigned n,
                          const unsigned *lane) {
    return fc_ll_ins(f, "shufflevector %s %s, %s %s, <%u x i32> %s", type, a, type,
                     b ? b : "poison", n, list(f, 32, n, lane));
}

const char *fc_ll_pick(fc_ll *f, const char *type, const char *a, const char *b, unsigned n,
                       unsigned first, unsigned step, unsigned wrap) {
    return fc_ll_shuffle(f, type, a, b, n, lanes(f, n, first, step, wrap));
}

const char *fc_ll_iota(fc_ll *f, unsigned bits) {
    const char *type = fc_ll_fmt(f, "<%u x i%u>", f->V, bits);
    return constant(
        f, fc_ll_fmt(f, "bitcast %s %s to %s", type, fc_ll_lanes(f, bits, f->V, 0, 1, f->V), type));
}

const char *fc_ll_splat(fc_ll *f, const char *type, const char *value) {
    const char *one =
        fc_ll_ins(f, "insertelement <%u x %s> poison, %s %s, i32 0", f->V, type, type, value);
    return fc_ll_ins(f, "shufflevector <%u x %s> %s, <%u x %s> poison, <%u x i32> zeroinitializer",
                     f->V, type, one, f->V, type, f->V);
}

const char *fc_ll_number(fc_ll *f, uint64_t n) {
    return fc_ll_fmt(f, "%llu", (unsigned long long)n);
}

const char *fc_ll_select(fc_ll *f, const char *type, unsigned W, const char *cond, const char *a,
                         const char *b) {
    return fc_ll_ins(f, "select %s %s, %s %s, %s %s", fc_ll_wide(f, "i1", W), cond, type, a, type,
                     b);
}

static const char *lane_bits(fc_ll *f, unsigned W, const char *mask) {
    return fc_ll_ins(f, "bitcast <%u x i1> %s to i%u", W, mask, W);
}

const char *fc_ll_all_lanes(fc_ll *f, unsigned W, const char *mask) {
    return fc_ll_ins(f, "icmp eq i%u %s, -1", W, lane_bits(f, W, mask));
}

const char *fc_ll_any_lane(fc_ll *f, unsigned W, const char *mask) {
    return fc_ll_ins(f, "icmp ne i%u %s, 0", W, lane_bits(f, W, mask));
}

const char *fc_ll_index(fc_ll *f, const char *type, const char *array, const char *element) {
    return fc_ll_ins(f, "getelementptr %s, ptr %s, i64 %s", type, array, element);
}

const char *fc_ll_bin(fc_ll *f, const char *op, const char *a, const char *b) {
    return fc_ll_ins(f, "%s i64 %s, %s", op, a, b);
}

const char *fc_ll_whole(fc_ll *f, const char *n, unsigned step) {
    if (!(step & (step - 1))) return fc_ll_bin(f, "and", n, fc_ll_fmt(f, "-%u", step));
    return fc_ll_bin(f, "sub", n, fc_ll_bin(f, "urem", n, fc_ll_number(f, step)));
}

const char *fc_ll_min(fc_ll *f, const char *a, const char *b) {
    fc_ll_declare(f, "i64 @llvm.umin.i64(i64, i64)");
    return fc_ll_ins(f, "call i64 @llvm.umin.i64(i64 %s, i64 %s)", a, b);
}

/* ---- the parameter block --------------------------------------------------------------------- */

static const char *word_address(fc_ll *f, unsigned word) {
    return fc_ll_head(f, "getelementptr i64, ptr %%params, i64 %u", word);
}

const char *fc_ll_word(fc_ll *f, unsigned word, const char *type) {
    if (!f->words[word])
        f->words[word] = fc_ll_head(f, "load %s, ptr %s, align 8", type, word_address(f, word));
    return f->words[word];
}

const char *fc_ll_extra(fc_ll *f, unsigned which) {
    return fc_ll_word(f, f->lay.extra + which, which == FC_PB_WORKSPACE ? "ptr" : "i64");
}

const char *fc_ll_extent(fc_ll *f, unsigned axis) {
    return fc_ll_word(f, f->lay.extents + axis, "i64");
}

static unsigned access_word(const fc_ll *f, uint32_t access) {
    return f->lay.accesses + access * (1u + f->cls->np + f->cls->nr);
}

const char *fc_ll_offset(fc_ll *f, uint32_t access) {
    return fc_ll_word(f, access_word(f, access), "i64");
}

const char *fc_ll_stride(fc_ll *f, uint32_t access, unsigned axis) {
    return fc_ll_word(f, access_word(f, access) + 1 + axis, "i64");
}

/* ---- control flow ---------------------------------------------------------------------------- */

void fc_ll_label(fc_ll *f, const char *label) {
    f->block = label;
    fc_str_add(&f->body, label);
    fc_str_add(&f->body, ":\n");
}

void fc_ll_goto(fc_ll *f, const char *label) {
    fc_ll_line(f, "br label %%%s", label);
}

static void begin_loop(fc_ll *f, fc_ll_loop *l, unsigned n, const char *const *types,
                       const char *const *init, const char *latch) {
    l->id = f->next++;
    l->n = n;
    l->carry = fc_ll_names(f, n);
    l->types = types;
    const char *before = f->block;
    fc_ll_goto(f, fc_ll_fmt(f, "L%u", l->id));
    fc_ll_label(f, fc_ll_fmt(f, "L%u", l->id));
    for (unsigned i = 0; i < n; i++)
        l->carry[i] = fc_ll_ins(f, "phi %s [ %s, %%%s ], [ %%n%u.%u, %%L%u%s ]", types[i], init[i],
                                before, l->id, i, l->id, latch);
}

void fc_ll_loop_begin(fc_ll *f, fc_ll_loop *l, unsigned n, const char *const *types,
                      const char *const *init) {
    begin_loop(f, l, n, types, init, ".latch");
}

void fc_ll_loop_test(fc_ll *f, fc_ll_loop *l, const char *cond) {
    fc_ll_line(f, "br i1 %s, label %%L%u.body, label %%L%u.end", cond, l->id, l->id);
    fc_ll_label(f, fc_ll_fmt(f, "L%u.body", l->id));
}

/* The header's phis name their next values before these exist; a bitcast to the same type gives
 * them that name and no code. */
static void name_next(fc_ll *f, const fc_ll_loop *l, const char *const *next) {
    for (unsigned i = 0; i < l->n; i++)
        fc_ll_line(f, "%%n%u.%u = bitcast %s %s to %s", l->id, i, l->types[i], next[i],
                   l->types[i]);
}

void fc_ll_loop_end(fc_ll *f, fc_ll_loop *l, const char *const *next) {
    fc_ll_goto(f, fc_ll_fmt(f, "L%u.latch", l->id));
    fc_ll_label(f, fc_ll_fmt(f, "L%u.latch", l->id));
    name_next(f, l, next);
    fc_ll_goto(f, fc_ll_fmt(f, "L%u", l->id));
    fc_ll_label(f, fc_ll_fmt(f, "L%u.end", l->id));
}

void fc_ll_repeat_begin(fc_ll *f, fc_ll_loop *l, unsigned n, const char *const *types,
                        const char *const *init) {
    begin_loop(f, l, n, types, init, "");
}

void fc_ll_repeat_end(fc_ll *f, fc_ll_loop *l, const char *const *next, const char *cond) {
    name_next(f, l, next);
    fc_ll_line(f, "br i1 %s, label %%L%u, label %%L%u.end", cond, l->id, l->id);
    fc_ll_label(f, fc_ll_fmt(f, "L%u.end", l->id));
    for (unsigned i = 0; i < l->n; i++) l->carry[i] = fc_ll_fmt(f, "%%n%u.%u", l->id, i);
}

static const char *const one_i64[] = {"i64"};

const char *fc_ll_for(fc_ll *f, fc_ll_loop *l, const char *from, const char *to) {
    fc_ll_loop_begin(f, l, 1, one_i64, &from);
    fc_ll_loop_test(f, l, fc_ll_ins(f, "icmp ult i64 %s, %s", l->carry[0], to));
    return l->carry[0];
}

void fc_ll_for_end(fc_ll *f, fc_ll_loop *l, const char *step) {
    const char *next = fc_ll_bin(f, "add", l->carry[0], step);
    fc_ll_loop_end(f, l, &next);
}

void fc_ll_if_begin(fc_ll *f, fc_ll_if *i, const char *cond) {
    i->id = f->next++;
    fc_ll_line(f, "br i1 %s, label %%I%u.then, label %%I%u.else", cond, i->id, i->id);
    fc_ll_label(f, fc_ll_fmt(f, "I%u.then", i->id));
}

void fc_ll_if_else(fc_ll *f, fc_ll_if *i) {
    i->end[0] = f->block;
    fc_ll_goto(f, fc_ll_fmt(f, "I%u.end", i->id));
    fc_ll_label(f, fc_ll_fmt(f, "I%u.else", i->id));
}

void fc_ll_if_end(fc_ll *f, fc_ll_if *i) {
    i->end[1] = f->block;
    fc_ll_goto(f, fc_ll_fmt(f, "I%u.end", i->id));
    fc_ll_label(f, fc_ll_fmt(f, "I%u.end", i->id));
}

const char *fc_ll_either(fc_ll *f, const fc_ll_if *i, const char *type, const char *a,
                         const char *b) {
    return fc_ll_ins(f, "phi %s [ %s, %%%s ], [ %s, %%%s ]", type, a, i->end[0], b, i->end[1]);
}

void fc_ll_set_mask(fc_ll *f, const char *active) {
    f->active = active;
    f->mask = NULL;
    if (!active) return;
    const char *n = fc_ll_splat(f, "i32", fc_ll_ins(f, "trunc i64 %s to i32", active));
    f->mask = fc_ll_ins(f, "icmp ult <%u x i32> %s, %s", f->V, fc_ll_iota(f, 32), n);
}

void fc_ll_mask_part(fc_ll *f, const char *n, unsigned v) {
    fc_ll_declare(f, "i64 @llvm.usub.sat.i64(i64, i64)");
    if (v) n = fc_ll_ins(f, "call i64 @llvm.usub.sat.i64(i64 %s, i64 %u)", n, v * f->V);
    fc_ll_set_mask(f, fc_ll_min(f, n, fc_ll_number(f, f->V)));
}

void fc_ll_whole_vectors(fc_ll *f, const char *from, const char *to, unsigned unroll,
                         fc_ll_body body, void *user) {
    fc_ll_loop l;
    const char *at = fc_ll_for(f, &l, from, to);
    f->turns = unroll;
    for (unsigned u = 0; u < unroll; u++) {
        f->turn = u;
        f->x = u ? fc_ll_bin(f, "add", at, fc_ll_number(f, u * f->V)) : at;
        body(f, user);
    }
    f->turns = 0;
    fc_ll_for_end(f, &l, fc_ll_number(f, unroll * f->V));
}

void fc_ll_vectors(fc_ll *f, const char *from, const char *to, unsigned unroll, fc_ll_body body,
                   void *user) {
    const char *n = fc_ll_bin(f, "sub", to, from), *at = from;
    for (unsigned u = unroll; u > 0; u = u > 1 ? 1 : 0) {
        const char *whole = fc_ll_whole(f, n, u * f->V);
        const char *end = fc_ll_bin(f, "add", from, whole);
        fc_ll_whole_vectors(f, at, end, u, body, user);
        at = end;
    }
    const char *rest = fc_ll_bin(f, "sub", to, at);
    fc_ll_if tail;
    fc_ll_if_begin(f, &tail, fc_ll_ins(f, "icmp ne i64 %s, 0", rest));
    fc_ll_set_mask(f, FC_PLANT(tail_mask, fc_ll_bin(f, "add", rest, "1"), rest));
    f->x = at;
    body(f, user);
    fc_ll_set_mask(f, NULL);
    fc_ll_if_else(f, &tail);
    fc_ll_if_end(f, &tail);
}

void fc_ll_vectors_in_one(fc_ll *f, const char *from, const char *to, const char *first,
                          fc_ll_body body, void *user) {
    static const char *const types[] = {"i64", "i64"};
    const char *V = fc_ll_number(f, f->V), *init[] = {from, first}, *next[] = {NULL, V};
    fc_ll_loop l;
    fc_ll_loop_begin(f, &l, first ? 2 : 1, types, init);
    fc_ll_loop_test(f, &l, fc_ll_ins(f, "icmp ult i64 %s, %s", l.carry[0], to));
    const char *rest = fc_ll_bin(f, "sub", to, l.carry[0]);
    const char *active = fc_ll_min(f, rest, first ? l.carry[1] : V);
    f->x = l.carry[0];
    f->left = rest;
    f->whole = fc_ll_ins(f, "icmp eq i64 %s, %s", active, V);
    fc_ll_set_mask(f, FC_PLANT(tail_mask, fc_ll_bin(f, "add", active, "1"), active));
    body(f, user);
    fc_ll_set_mask(f, NULL);
    f->whole = f->left = NULL;
    next[0] = fc_ll_bin(f, "add", l.carry[0], active);
    fc_ll_loop_end(f, &l, next);
}

/* ---- functions ------------------------------------------------------------------------------- */

void fc_ll_begin(fc_ll *f) {
    fc_str_clear(&f->head);
    fc_str_clear(&f->body);
    f->words = fc_ll_names(f, f->lay.words);
    memset(f->constants, 0, sizeof f->constants);
    fc_ll_label(f, "start");
}

static void swap_text(fc_str *a, fc_str *b) {
    const fc_str t = *a;
    *a = *b;
    *b = t;
}

void fc_ll_aside_begin(fc_ll *f) {
    fc_ll_aside *aside = &f->aside;
    fc_str_clear(&aside->head);
    fc_str_clear(&aside->body);
    swap_text(&f->head, &aside->head);
    swap_text(&f->body, &aside->body);
    memcpy(aside->constants, f->constants, sizeof f->constants);
    memset(f->constants, 0, sizeof f->constants);
    aside->block = f->block;
    aside->active = f->active;
    aside->mask = f->mask;
    f->block = "entry";
    aside->open = true;
}

void fc_ll_aside_end(fc_ll *f, const char *signature) {
    fc_ll_aside *aside = &f->aside;
    if (f->head.oom || f->body.oom) fc_ll_fail(f, FUSEC_OUT_OF_MEMORY);
    fc_str_printf(&f->helpers, "\ndefine internal %s {\nentry:\n", signature);
    fc_str_add(&f->helpers, f->head.data);
    fc_str_add(&f->helpers, f->body.data);
    fc_str_add(&f->helpers, "}\n");
    swap_text(&f->head, &aside->head);
    swap_text(&f->body, &aside->body);
    memcpy(f->constants, aside->constants, sizeof f->constants);
    f->block = aside->block;
    f->active = aside->active;
    f->mask = aside->mask;
    aside->open = false;
}

void fc_ll_end(fc_ll *f, const char *suffix) {
    fc_ll_line(f, "ret void");
    fc_str_printf(&f->module,
                  "\ndefine void @%s%s(ptr %%params, i64 %%begin, i64 %%end) {\nentry:\n", f->name,
                  suffix);
    fc_str_add(&f->module, f->head.data);
    fc_str_add(&f->module, "  br label %start\n");
    fc_str_add(&f->module, f->body.data);
    fc_str_add(&f->module, "}\n");
}
