/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_rules.c - the simplifier's rules: each is read, and computes the same on both sides. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "passes/plan.h"
#include "tests/support/gb.h"
#include "tests/support/rule_check.h"

enum { EVERYTHING = 0xff };

/* ---- the table ------------------------------------------------------------------------------- */

FC_TEST(rules, every_rule_is_read) {
    fc_ruleset s;
    fc_error e = {0};
    FC_ASSERT_OK(fc_rules_compile(&fc_libc_alloc, fc_rewrite_rules, fc_rewrite_rule_count,
                                  EVERYTHING, &s, &e),
                 &e);
    FC_EXPECT_EQ_U64(s.rules.len, fc_rewrite_rule_count);
    FC_EXPECT_EQ_U64(s.first[FC_OP_COUNT_], s.variants.len);
    fc_rules_free(&s);
}

/* Whether the rule matches x*0 under the mode. */
static bool matches(const fc_rewrite_rule *rule, uint32_t mode) {
    fc_graph g, out;
    fc_ruleset s;
    fc_error e = {0};
    fc_graph_init(&g, &fc_libc_alloc, NULL);
    fc_node x = gbin(&g, "x", FUSEC_F32, 1, gbd(&g, "n"), 0, 0);
    fc_build_output(&g, "y", gb2(&g, FC_OP_mul, x, gbn(&g, x, 0)));
    bool found = false;
    FC_EXPECT_OK(fc_rules_compile(&fc_libc_alloc, rule, 1, mode, &s, &e), &e);
    FC_EXPECT_OK(fc_simplify_with(&g, &s, &out, &e), &e);
    if (!e.code) {
        found = true;
        for (uint32_t i = 0; i < out.nodes.len; i++) found &= fc_at(&out, i)->op != FC_OP_mul;
        fc_graph_free(&out);
    }
    fc_rules_free(&s);
    fc_graph_free(&g);
    return found;
}

FC_TEST(rules, a_mode_has_only_the_rules_it_licenses) {
    const fc_rewrite_rule rule = {FC_MODE_NNAN | FC_MODE_NSZ, FC_FOR_FLOAT, "mul(x, 0)", "0"};
    FC_EXPECT_FALSE(matches(&rule, 0));
    FC_EXPECT_FALSE(matches(&rule, FC_MODE_NNAN));
    FC_EXPECT_FALSE(matches(&rule, EVERYTHING & ~FC_MODE_NSZ));
    FC_EXPECT_TRUE(matches(&rule, FC_MODE_NNAN | FC_MODE_NSZ));
    FC_EXPECT_TRUE(matches(&rule, EVERYTHING));
}

FC_TEST(rules, a_broken_rule_is_an_error) {
    static const char *const broken[][3] = {
        {"add(x, 0", "x", "a missing parenthesis"},
        {"add(x)", "x", "too few operands"},
        {"neg(x, y)", "x", "too many operands"},
        {"plus(x, 0)", "x", "an unknown row"},
        {"add(x, w)", "x", "an unknown word"},
        {"add(x, 0) x", "x", "text after its end"},
        {"add(x, c:odd)", "x", "an unknown condition"},
        {"add(x, c:pow2)", "c:pow2", "a condition in its result"},
        {"add(x, 0)", "y", "a letter that its pattern lacks"},
        {"add(y, 0)", "y", "no x in its pattern"},
        {"x", "x", "a pattern that is not an operation"},
        {"add(add(add(add(x, y), z), 1), 2)", "x", "too many commutative rows"},
        {"logical_not(eq(x, x))", "eq(1, 2)", "a comparison of constants in its result"},
        {"", "x", "an unexpected character"},
    };
    for (size_t i = 0; i < FC_COUNT(broken); i++) {
        fc_rewrite_rule rule = {0, FC_FOR_ALL, broken[i][0], broken[i][1]};
        fc_ruleset s;
        fc_error e = {0};
        FC_EXPECT_STATUS(fc_rules_compile(&fc_libc_alloc, &rule, 1, 0, &s, &e), FUSEC_INTERNAL, &e);
        FC_EXPECT_CONTAINS(e.message, broken[i][2]);
    }
}

/* ---- the checker finds what is wrong --------------------------------------------------------- */

static uint64_t faults(const fc_rewrite_rule *rule, fc_rule_report *report) {
    fc_ruleset s;
    fc_error e = {0};
    if (fc_rules_compile(&fc_libc_alloc, rule, 1, EVERYTHING, &s, &e)) {
        FC_FAIL("%s", e.message);
        return 0;
    }
    fc_rule_check(&s.rules.at[0], report);
    fc_rules_free(&s);
    return report->wrong;
}

FC_TEST(rules, wrong_rules_are_found) {
    static const fc_rewrite_rule wrong[] = {
        {0, FC_FOR_FLOAT, "add(x, 0)", "x"},
        {0, FC_FOR_FLOAT, "sub(+0, x)", "neg(x)"},
        {0, FC_FOR_HALF, "mul(x, 0)", "0"},
        {FC_MODE_NNAN, FC_FOR_HALF, "mul(x, 0)", "0"},
        {FC_MODE_NSZ, FC_FOR_HALF, "mul(x, 0)", "0"},
        {0, FC_FOR_FLOAT, "sub(x, x)", "0"},
        {0, FC_FOR_FLOAT, "eq(x, x)", "true"},
        {0, FC_FOR_FLOAT, "logical_not(lt(x, y))", "ge(x, y)"},
        {0, FC_FOR_HALF, "minimum(x, maximum(x, y))", "x"},
        {0, FC_FOR_FLOAT, "fmax(x, y)", "maximum(x, y)"},
        {0, FC_FOR_HALF, "mul(mul(x, c), d)", "mul(x, mul(c, d))"},
        {0, FC_FOR_HALF, "div(x, c:recip)", "mul(x, div(1, c))"},
        {0, FC_FOR_WIDE, "add(mul(x, y), z)", "fma(x, y, z)"},
        {0, FC_FOR_HALF, "pow(x, 0.5)", "sqrt(x)"},
        {0, FC_FOR_SIGNED, "mul(floordiv(x, y), y)", "x"},
        {0, FC_FOR_UNSIGNED, "abs(neg(x))", "abs(x)"},
        {0, FC_FOR_UNSIGNED, "floordiv(x, -1)", "neg(x)"},
        {0, FC_FOR_SIGNED, "fmod(x, c:pow2)", "bit_and(x, sub(c, 1))"},
        {0, FC_FOR_SIGNED, "shr(x, c:wide)", "0"},
        {0, FC_FOR_INT, "shl(shl(x, c), d)", "shl(x, add(c, d))"},
        {0, FC_FOR_BOOL, "where(x, false, y)", "y"},
        {0, FC_FOR_BOOL, "eq(cast(x), 0)", "x"},
    };
    fc_rule_report r;
    for (size_t i = 0; i < FC_COUNT(wrong); i++)
        if (!faults(&wrong[i], &r))
            FC_FAIL("%s -> %s was not found", wrong[i].pattern, wrong[i].result);
}

/* ---- every rule is right: a test each -------------------------------------------------------- */

static void check_rule(void *arg) {
    FC_TAKE_ONE_OF(3);
    const fc_rewrite_rule *rule = arg;
    fc_rule_report r = {0};
    if (faults(rule, &r))
        FC_FAIL("%llu of %llu points: %s", (unsigned long long)r.wrong,
                (unsigned long long)r.points, r.first);
    FC_EXPECT_TRUE(r.points > 0);
}

/* A name of letters and digits, with the place in the table to tell equal ones apart. */
static void test_name(char *out, size_t size, uint32_t i) {
    size_t n = 0;
    for (uint32_t k = i, d = 100; d; d /= 10) out[n++] = (char)('0' + k / d % 10);
    out[n++] = '_';
    for (const char *p = fc_rewrite_rules[i].pattern; *p && n + 1 < size; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9');
        if (plain)
            out[n++] = *p;
        else if (out[n - 1] != '_')
            out[n++] = '_';
    }
    out[n] = 0;
}

FC_REGISTER(each_rule) {
    for (uint32_t i = 0; i < fc_rewrite_rule_count; i++) {
        char name[64];
        test_name(name, sizeof name, i);
        FC_ADD_TEST("rules_each", name, check_rule, &fc_rewrite_rules[i]);
    }
}

/* ---- and on all pairs of f16: scripts/campaign rules ------------------------------------------
 */

static void check_pairs(void *arg) {
    const fc_rewrite_rule *rule = arg;
    fc_rule_report r = {0};
    fc_ruleset s;
    fc_error e = {0};
    FC_ASSERT_OK(fc_rules_compile(&fc_libc_alloc, rule, 1, EVERYTHING, &s, &e), &e);
    fc_rule_check_pairs(&s.rules.at[0], &r);
    fc_rules_free(&s);
    if (r.wrong)
        FC_FAIL("%llu of %llu points: %s", (unsigned long long)r.wrong,
                (unsigned long long)r.points, r.first);
    FC_EXPECT_TRUE(r.points > 0);
    printf("%s -> %s: %llu pairs\n", rule->pattern, rule->result, (unsigned long long)r.points);
}

FC_TEST(rules, wrong_rules_are_found_by_pairs) {
    static const fc_rewrite_rule wrong[] = {
        {0, FC_FOR_FLOAT, "fma(x, y, 0)", "mul(x, y)"},
        {0, FC_FOR_FLOAT, "minimum(x, maximum(x, y))", "x"},
        {0, FC_FOR_FLOAT, "div(x, c:pow2)", "mul(x, c)"},
        {FC_MODE_REASSOC, FC_FOR_FLOAT, "add(mul(x, c), x)", "mul(x, sub(c, 1))"},
    };
    for (size_t i = 0; i < FC_COUNT(wrong); i++) {
        fc_rule_report r;
        fc_ruleset s;
        fc_error e = {0};
        FC_ASSERT_OK(fc_rules_compile(&fc_libc_alloc, &wrong[i], 1, EVERYTHING, &s, &e), &e);
        FC_EXPECT_TRUE(fc_rule_has_pairs(&s.rules.at[0]));
        fc_rule_check_pairs(&s.rules.at[0], &r);
        fc_rules_free(&s);
        if (!r.wrong) FC_FAIL("%s -> %s was not found", wrong[i].pattern, wrong[i].result);
    }
}

FC_REGISTER(pairs_of_each_rule) {
    for (uint32_t i = 0; i < fc_rewrite_rule_count && getenv("FUSEC_RULES_PAIRS"); i++) {
        char name[64];
        fc_ruleset s;
        fc_error e = {0};
        if (fc_rules_compile(&fc_libc_alloc, &fc_rewrite_rules[i], 1, EVERYTHING, &s, &e)) continue;
        test_name(name, sizeof name, i);
        if (fc_rule_has_pairs(&s.rules.at[0]))
            FC_ADD_TEST("rules_pairs", name, check_pairs, &fc_rewrite_rules[i]);
        fc_rules_free(&s);
    }
}
