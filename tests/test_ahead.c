/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ahead.c - a thread that makes items before they are asked for (frontend/cli/ahead.h). */
#include <stdatomic.h>
#include <unistd.h>

#include "frontend/cli/ahead.h"
#include "tests/support/test.h"

typedef struct source {
    int64_t item[3]; /* in each slot */
    int64_t fails;   /* this item can't be made */
    atomic_int made;
} source;

static fusec_status make(void *user, int64_t k, unsigned slot, fc_error *e) {
    source *s = user;
    if (k == s->fails) return fc_fail(e, FUSEC_IO, "item %lld is broken", (long long)k);
    s->item[slot] = k;
    atomic_fetch_add(&s->made, 1);
    return FUSEC_OK;
}

FC_TEST(ahead, items_come_in_order_and_stay) {
    source s = {.fails = -1};
    fc_ahead a;
    fc_error e = {0};
    fc_ahead_start(&a, 3, 100, make, &s);
    for (int64_t k = 0; k < 100; k++) {
        FC_EXPECT_EQ_I64(fc_ahead_wait(&a, k, &e), FUSEC_OK);
        FC_EXPECT_EQ_I64(s.item[k % 3], k);
        FC_EXPECT_LE_I64(atomic_load(&s.made), k + 3);
        fc_ahead_give_back(&a);
    }
    fc_ahead_end(&a);
    FC_EXPECT_EQ_I64(atomic_load(&s.made), 100);
}

/* While the first is held, the others are made as far as there is room, and no further. */
FC_TEST(ahead, all_slots_fill) {
    source s = {.fails = -1};
    fc_ahead a;
    fc_error e = {0};
    fc_ahead_start(&a, 3, 100, make, &s);
    FC_EXPECT_EQ_I64(fc_ahead_wait(&a, 0, &e), FUSEC_OK);
    for (int k = 0; atomic_load(&s.made) < 3 && k < 10000; k++) usleep(1000);
    usleep(2000);
    FC_EXPECT_EQ_I64(atomic_load(&s.made), 3);
    FC_EXPECT_EQ_I64(s.item[0], 0);
    fc_ahead_end(&a); /* before the end */
}

FC_TEST(ahead, an_error_comes_where_its_item_would) {
    source s = {.fails = 2};
    fc_ahead a;
    fc_error e = {0};
    fc_ahead_start(&a, 3, 100, make, &s);
    FC_EXPECT_EQ_I64(fc_ahead_wait(&a, 0, &e), FUSEC_OK);
    FC_EXPECT_EQ_I64(fc_ahead_wait(&a, 1, &e), FUSEC_OK);
    FC_EXPECT_EQ_I64(fc_ahead_wait(&a, 2, &e), FUSEC_IO);
    FC_EXPECT_STREQ(e.message, "item 2 is broken");
    fc_ahead_end(&a);
}
