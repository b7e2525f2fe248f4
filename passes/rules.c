/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* rules.c - reads the texts of rewrite rules and of GRAD into terms: see match.h.
 *
 * In: a table of rules and the mode. Out: a fc_ruleset, whose variants are sorted by the operation
 * at the root of the pattern. In: the column GRAD of ops.def. Out: a fc_formula each. The texts are
 * ours, not the user's, so the recursion is as deep as the table is. */
#include "passes/match.h"

#include <pthread.h>

#include "passes/plan.h"

#include "ir/code.h"

enum { /* the words of rules.def */
       EXACT = 0,
       CONTRACT = FC_MODE_CONTRACT,
       REASSOC = FC_MODE_REASSOC,
       RECIP = FC_MODE_RECIP,
       NNAN = FC_MODE_NNAN,
       NINF = FC_MODE_NINF,
       NSZ = FC_MODE_NSZ,
       APPROX = FC_MODE_APPROX,
       BOOL = FC_FOR_BOOL,
       SIGNED = FC_FOR_SIGNED,
       UNSIGNED = FC_FOR_UNSIGNED,
       INT = FC_FOR_INT,
       HALF = FC_FOR_HALF,
       WIDE = FC_FOR_WIDE,
       FLOAT = FC_FOR_FLOAT,
       ALL = FC_FOR_ALL
};

const fc_rewrite_rule fc_rewrite_rules[] = {
#define RULE(licence, dtypes, pattern, result) {licence, dtypes, pattern, result},
#include "passes/rules.def"
};
const uint32_t fc_rewrite_rule_count = FC_COUNT(fc_rewrite_rules);

/* ---- names of operations: a hash table, as the lookup of fc_op_by_name is a walk ------------- */

enum { NAME_SLOTS = 256 };
typedef struct name_table {
    uint16_t op[NAME_SLOTS];
} name_table;

static uint32_t name_hash(const char *s, size_t len) {
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++) h = (h ^ (uint8_t)s[i]) * 16777619u;
    return h ^ (h >> 15);
}

static void name_add(name_table *t, int op) {
    uint32_t h = name_hash(fc_ops[op].name, strlen(fc_ops[op].name));
    while (t->op[h % NAME_SLOTS]) h++;
    t->op[h % NAME_SLOTS] = (uint16_t)op;
}

static void name_init(name_table *t) {
    memset(t, 0, sizeof *t);
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_FIRST_REDUCTION; op++) name_add(t, op);
    name_add(t, FC_OP_CAST);
}

static int name_find(const name_table *t, const char *s, size_t len) {
    for (uint32_t h = name_hash(s, len); t->op[h % NAME_SLOTS]; h++) {
        int op = t->op[h % NAME_SLOTS];
        if (!strncmp(fc_ops[op].name, s, len) && !fc_ops[op].name[len]) return op;
    }
    return FC_OP_NONE;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reader {
    const name_table *names;
    const char *at;
    fc_pterm *terms;
    unsigned n, room;
    const char *wrong; /* NULL: fine so far */
} reader;

static unsigned fail(reader *r, const char *why) {
    if (!r->wrong) r->wrong = why;
    return 0;
}

static size_t word_length(const char *s) {
    size_t n = 0;
    while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= '0' && s[n] <= '9') || s[n] == '_') n++;
    return n;
}

static bool word_is(const char *s, size_t len, const char *word) {
    return strlen(word) == len && !memcmp(s, word, len);
}

static void skip_spaces(reader *r) {
    while (*r->at == ' ') r->at++;
}

static unsigned read_term(reader *r);

static unsigned read_row(reader *r, unsigned i, size_t len) {
    int op = name_find(r->names, r->at, len);
    if (op == FC_OP_NONE) return fail(r, "an unknown row");
    unsigned arity = op == FC_OP_CAST ? 1 : fc_ops[op].arity, n = 0;
    r->at += len + 1; /* and the parenthesis */
    while (!r->wrong) {
        if (n == arity) return fail(r, "too many operands");
        unsigned kid = read_term(r);
        r->terms[i].kid[n++] = (uint8_t)kid;
        skip_spaces(r);
        if (*r->at != ',') break;
        r->at++;
    }
    if (*r->at == ')')
        r->at++;
    else
        fail(r, "a missing parenthesis");
    if (n != arity) return fail(r, "too few operands");
    r->terms[i].kind = FC_P_OP;
    r->terms[i].op = (uint16_t)op;
    r->terms[i].nkids = (uint8_t)n;
    return i;
}

/* `:pow2` and the like, `.log2` */
static fc_pwhat read_suffix(reader *r) {
    static const struct {
        const char *text;
        fc_pwhat what;
    } known[] = {
        {":pow2", FC_P_POW2}, {":recip", FC_P_RECIP}, {":wide", FC_P_WIDE}, {".log2", FC_P_LOG2}};
    if (*r->at != ':' && *r->at != '.') return FC_P_PLAIN;
    size_t len = 1 + word_length(r->at + 1);
    for (size_t i = 0; i < FC_COUNT(known); i++)
        if (word_is(r->at, len, known[i].text)) {
            r->at += len;
            return known[i].what;
        }
    fail(r, "an unknown condition");
    return FC_P_PLAIN;
}

static unsigned read_word(reader *r, unsigned i, size_t len) {
    static const struct {
        const char *text;
        fc_pwhat what;
        double value;
    } constants[] = {{"true", FC_P_BOOL, 1},
                     {"false", FC_P_BOOL, 0},
                     {"min", FC_P_MIN, 0},
                     {"max", FC_P_MAX, 0}};
    static const char letters[] = "xyzpqcdrg";
    fc_pterm *t = &r->terms[i];
    const char *word = r->at;
    r->at += len;
    if (len == 1 && strchr(letters, *word)) {
        t->slot = (uint8_t)(strchr(letters, *word) - letters);
        t->kind = *word == 'c' || *word == 'd' ? FC_P_ANY_CONST : FC_P_VALUE;
        if (t->kind == FC_P_ANY_CONST) t->what = (uint8_t)read_suffix(r);
        return i;
    }
    t->kind = FC_P_CONST;
    for (size_t k = 0; k < FC_COUNT(constants); k++)
        if (word_is(word, len, constants[k].text)) {
            t->what = (uint8_t)constants[k].what;
            t->value = constants[k].value;
            return i;
        }
    return fail(r, "an unknown word");
}

/* One term of the text into the next free place; gives its index. */
static unsigned read_term(reader *r) {
    skip_spaces(r);
    if (r->n == r->room) return fail(r, "too many terms");
    unsigned i = r->n++;
    r->terms[i] = (fc_pterm){.slot = FC_P_NOSLOT};
    size_t len = word_length(r->at);
    if (len && r->at[len] == '(') return read_row(r, i, len);
    double v;
    const char *end;
    if (fc_parse_double(r->at, &end, &v)) {
        bool sign = v == 0 && (*r->at == '+' || *r->at == '-');
        r->terms[i].kind = FC_P_CONST;
        r->terms[i].what = sign ? FC_P_SIGNED : FC_P_PLAIN;
        r->terms[i].value = v;
        r->at = end;
        return i;
    }
    return len ? read_word(r, i, len) : fail(r, "an unexpected character");
}

static unsigned read_text(const name_table *names, const char *text, fc_pterm *terms, unsigned room,
                          const char **wrong) {
    reader r = {.names = names, .at = text, .terms = terms, .room = room};
    read_term(&r);
    skip_spaces(&r);
    if (*r.at) fail(&r, "text after its end");
    *wrong = r.wrong;
    return r.n;
}

/* ---- checking -------------------------------------------------------------------------------- */

static bool gives_bool(const fc_pterm *t) {
    fc_rule rule = t->kind == FC_P_OP ? fc_ops[t->op].rule : FC_RULE_STRUCT;
    return rule == FC_RULE_COMPARE || rule == FC_RULE_TEST;
}

/* The first value under term i, whose dtype constants beside it have. */
static uint8_t typing_slot(const fc_pterm *terms, unsigned i) {
    if (terms[i].kind == FC_P_VALUE || terms[i].kind == FC_P_ANY_CONST) return terms[i].slot;
    for (unsigned k = terms[i].kind == FC_P_OP && terms[i].op == FC_OP_where; k < terms[i].nkids;
         k++) {
        uint8_t slot = typing_slot(terms, terms[i].kid[k]);
        if (slot != FC_P_NOSLOT) return slot;
    }
    return FC_P_NOSLOT;
}

static const char *check_pattern(const fc_compiled *c) {
    uint32_t bound = 0;
    for (unsigned i = 0; i < c->npattern; i++) {
        const fc_pterm *t = &c->pattern[i];
        if (t->slot != FC_P_NOSLOT) bound |= 1u << t->slot;
        if (t->what == FC_P_LOG2) return "log2 in a pattern";
    }
    if (c->pattern[0].kind != FC_P_OP) return "a pattern that is not an operation";
    if (!(bound & 1)) return "no x in its pattern";
    for (unsigned i = 0; i < c->nresult; i++) {
        const fc_pterm *t = &c->result[i];
        if (t->slot != FC_P_NOSLOT && !(bound >> t->slot & 1))
            return "a letter that its pattern lacks";
        if (t->what == FC_P_POW2 || t->what == FC_P_RECIP || t->what == FC_P_WIDE)
            return "a condition in its result";
    }
    return NULL;
}

/* Comparisons and casts in a result are where the dtype of the root does not reach. */
static const char *type_result(fc_pterm *terms, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        fc_pterm *t = &terms[i];
        if (!gives_bool(t) && !(t->kind == FC_P_OP && t->op == FC_OP_CAST)) continue;
        t->slot = typing_slot(terms, i);
        if (t->slot == FC_P_NOSLOT) return "a comparison of constants in its result";
    }
    return NULL;
}

static unsigned number_swaps(fc_compiled *c) {
    unsigned n = 0;
    for (unsigned i = 0; i < c->npattern; i++) {
        fc_pterm *t = &c->pattern[i];
        if (t->kind != FC_P_OP || !(fc_ops[t->op].flags & FC_F_COMMUTES)) continue;
        const fc_pterm *a = &c->pattern[t->kid[0]], *b = &c->pattern[t->kid[1]];
        bool same = a->kind == FC_P_VALUE && b->kind == FC_P_VALUE && a->slot == b->slot;
        if (!same) t->swap = (uint8_t)(1u << n++);
    }
    return n;
}

/* ---- the set --------------------------------------------------------------------------------- */

static fc_variant variant(const fc_compiled *c, size_t rule, unsigned swaps) {
    const fc_pterm *root = &c->pattern[0];
    fc_variant v = {.rule = (uint16_t)rule, .swaps = (uint8_t)swaps};
    for (unsigned k = 0; k < root->nkids; k++) {
        unsigned from = swaps & root->swap ? 1 - k : k;
        const fc_pterm *t = &c->pattern[root->kid[from]];
        v.expect[k] = t->kind == FC_P_OP ? t->op : t->kind == FC_P_VALUE ? FC_OP_NONE : FC_OP_CONST;
    }
    return v;
}

/* By root; the order of the table stays within one root. */
static bool add_variants(fc_ruleset *s) {
    uint32_t next[FC_OP_COUNT_];
    for (size_t i = 0; i < s->rules.len; i++)
        s->first[s->rules.at[i].pattern[0].op + 1] += 1u << s->rules.at[i].nswaps;
    for (unsigned op = 0; op < FC_OP_COUNT_; op++) s->first[op + 1] += s->first[op];
    memcpy(next, s->first, sizeof next);
    if (!fc_reserve(s->alloc, &s->variants, s->first[FC_OP_COUNT_])) return false;
    s->variants.len = s->first[FC_OP_COUNT_];
    for (size_t i = 0; i < s->rules.len; i++) {
        const fc_compiled *c = &s->rules.at[i];
        for (unsigned swaps = 0; swaps < 1u << c->nswaps; swaps++)
            s->variants.at[next[c->pattern[0].op]++] = variant(c, i, swaps);
    }
    return true;
}

enum { MOST_SWAPS = 3 }; /* rows of a pattern whose operands may be exchanged */

static fusec_status compile_rule(fc_ruleset *s, const name_table *names,
                                 const fc_rewrite_rule *rule, fc_error *e) {
    fc_compiled c = {.rule = rule};
    const char *wrong;
    c.npattern = (uint8_t)read_text(names, rule->pattern, c.pattern, FC_P_TERMS, &wrong);
    if (!wrong) c.nresult = (uint8_t)read_text(names, rule->result, c.result, FC_P_TERMS, &wrong);
    if (!wrong) wrong = check_pattern(&c);
    if (!wrong) wrong = type_result(c.result, c.nresult);
    if (!wrong) c.nswaps = (uint8_t)number_swaps(&c);
    if (c.nswaps > MOST_SWAPS) wrong = "too many commutative rows";
    if (wrong)
        return fc_fail(e, FUSEC_INTERNAL, "the rule %s -> %s has %s", rule->pattern, rule->result,
                       wrong);
    return fc_push(s->alloc, &s->rules, c) ? FUSEC_OK : fc_oom(e);
}

static fusec_status compile(const fc_rewrite_rule *rules, uint32_t n, uint32_t mode,
                            fc_ruleset *out, fc_error *e) {
    name_table names;
    name_init(&names);
    out->mode = mode;
    for (uint32_t i = 0; i < n; i++) FC_TRY(compile_rule(out, &names, &rules[i], e));
    return add_variants(out) ? FUSEC_OK : fc_oom(e);
}

fusec_status fc_rules_compile(const fc_alloc *alloc, const fc_rewrite_rule *rules, uint32_t n,
                              uint32_t mode, fc_ruleset *out, fc_error *e) {
    memset(out, 0, sizeof *out);
    out->alloc = alloc;
    fusec_status s = compile(rules, n, mode, out, e);
    if (s) fc_rules_free(out);
    return s;
}

/* ---- the rules of rules.def, read once in a process ------------------------------------------ */

static struct {
    pthread_once_t once;
    fusec_status status;
    fc_error error;
    fc_ruleset set;
    fc_compiled rules[FC_COUNT(fc_rewrite_rules)];
    fc_variant variants[FC_COUNT(fc_rewrite_rules) << MOST_SWAPS]; /* as add_variants adds */
} own = {.once = PTHREAD_ONCE_INIT};

/* There is room for all of them, so that nothing is allocated. */
static void read_own(void) {
    own.set.alloc = &fc_libc_alloc;
    own.set.rules.at = own.rules;
    own.set.rules.cap = FC_COUNT(own.rules);
    own.set.variants.at = own.variants;
    own.set.variants.cap = FC_COUNT(own.variants);
    own.status = compile(fc_rewrite_rules, fc_rewrite_rule_count, UINT32_MAX, &own.set, &own.error);
}

fusec_status fc_rules_own(uint32_t mode, fc_ruleset *out, fc_error *e) {
    pthread_once(&own.once, read_own);
    *out = own.set;
    out->mode = mode;
    return own.status ? fc_fail(e, own.status, "%s", own.error.message) : FUSEC_OK;
}

void fc_rules_free(fc_ruleset *s) {
    if (!s->alloc) return;
    fc_vec_free(s->alloc, &s->rules);
    fc_vec_free(s->alloc, &s->variants);
    memset(s, 0, sizeof *s);
}

/* ---- GRAD of ops.def, read once in a process ---------------------------------------------------
 */

enum { ROWS = FC_OP_FIRST_REDUCTION - FC_OP_FIRST_ELEMENTWISE, GRADIENT_TERMS = 32 * ROWS };

static struct {
    pthread_once_t once;
    fusec_status status;
    fc_error error;
    fc_formula formulas[ROWS][3];
    fc_pterm terms[GRADIENT_TERMS];
} gradients = {.once = PTHREAD_ONCE_INIT};

/* A text of GRAD speaks of operands that the row has, of its result and of g. */
static const char *check_formula(const fc_pterm *terms, unsigned n, unsigned arity) {
    for (unsigned i = 0; i < n; i++) {
        const uint8_t slot = terms[i].slot;
        if (slot == FC_P_NOSLOT || slot == FC_P_RESULT || slot == FC_P_ARRIVES) continue;
        if (slot >= arity) return "a letter that stands for nothing";
    }
    return NULL;
}

/* g itself, its negation, a choice and a constant can't make a nan of g = 0; anything else can. */
static void classify(fc_formula *f) {
    const fc_pterm *root = f->terms;
    const bool op = root->kind == FC_P_OP;
    f->zero = root->kind == FC_P_CONST && root->value == 0;
    f->chooses = op && root->op == FC_OP_where;
    f->safe = !op || f->chooses || (root->op == FC_OP_neg && f->n == 2);
}

static const char *read_formula(const name_table *names, int op, unsigned k, unsigned *used) {
    fc_formula *f = &gradients.formulas[op - FC_OP_FIRST_ELEMENTWISE][k];
    fc_pterm *terms = gradients.terms + *used;
    const unsigned left = GRADIENT_TERMS - *used;
    const char *wrong;
    if (!strcmp(fc_ops[op].grad[k], "none")) return NULL;
    f->terms = terms;
    f->n = (uint8_t)read_text(names, fc_ops[op].grad[k], terms, left < 255 ? left : 255, &wrong);
    if (!wrong) wrong = check_formula(terms, f->n, fc_ops[op].arity);
    if (!wrong) wrong = type_result(terms, f->n);
    *used += f->n;
    classify(f);
    return wrong;
}

static void read_gradients(void) {
    name_table names;
    unsigned used = 0;
    name_init(&names);
    for (int op = FC_OP_FIRST_ELEMENTWISE; op < FC_OP_FIRST_REDUCTION; op++)
        for (unsigned k = 0; k < fc_ops[op].arity; k++) {
            const char *wrong = read_formula(&names, op, k, &used);
            if (wrong && !gradients.status)
                gradients.status =
                    fc_fail(&gradients.error, FUSEC_INTERNAL, "GRAD of %s, operand %u, has %s",
                            fc_ops[op].name, k, wrong);
        }
}

fusec_status fc_gradient_formula(int op, unsigned k, const fc_formula **out, fc_error *e) {
    pthread_once(&gradients.once, read_gradients);
    *out = &gradients.formulas[op - FC_OP_FIRST_ELEMENTWISE][k];
    return gradients.status ? fc_fail(e, gradients.status, "%s", gradients.error.message)
                            : FUSEC_OK;
}
