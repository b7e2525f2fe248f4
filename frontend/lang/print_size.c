/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* print_size.c - sizes, shapes, types and constants of a graph that is printed as a program.
 *
 * The terms of a size are in the order of the parameters, then by their text. */
#include "frontend/lang/print_graph_impl.h"

#include "ir/code.h"

/* ---- sizes ----------------------------------------------------------------------------------- */

static void print_factor(fc_printer *p, fc_dim d, fc_str *out) {
    int64_t v;
    bool simple = (fc_dim_is_const(&p->dims, d, &v) && v != INT64_MIN) ||
                  (fc_dim_is_sym(&p->dims, d, NULL) &&
                   p->dims.syms.at[p->dims.forms.at[d].terms[0].sym].kind == FC_SYM_NAMED);
    if (!simple) fc_str_char(out, '(');
    fc_print_dim(p, d, out);
    if (!simple) fc_str_char(out, ')');
}

/* The recursion is FC_DIM_DEPTH deep at most. */
static void print_sym(fc_printer *p, uint32_t sym, fc_str *out) {
    const fc_sym *s = &p->dims.syms.at[sym];
    if (s->kind == FC_SYM_NAMED) {
        fc_str_add(out, p->syms[sym] ? p->syms[sym] : "");
        return;
    }
    fc_str a, b;
    fc_str_init(&a, p->g->alloc);
    fc_str_init(&b, p->g->alloc);
    print_factor(p, s->a, &a);
    print_factor(p, s->b, &b);
    bool swap = s->kind == FC_SYM_MUL && strcmp(a.data, b.data) > 0;
    fc_str_printf(out, "%s%s%s", swap ? b.data : a.data,
                  s->kind == FC_SYM_MUL   ? "*"
                  : s->kind == FC_SYM_MOD ? " % "
                                          : "//",
                  swap ? a.data : b.data);
    out->oom |= a.oom | b.oom;
    fc_str_free(&a);
    fc_str_free(&b);
}

typedef struct term {
    uint32_t order; /* of a parameter; others come after these, by text */
    int64_t coef;
    const char *text;
} term;

static bool before(const term *a, const term *b) {
    return a->order != b->order ? a->order < b->order : strcmp(a->text, b->text) < 0;
}

/* Numbers of sizes are read before their sign, so that -2^63 is written in two. */
void fc_print_term(fc_str *out, bool first, int64_t k, const char *text) {
    int64_t rest = k == INT64_MIN ? -1 : 0;
    k -= rest;
    fc_str_add(out, first ? (k < 0 ? "-" : "") : k < 0 ? " - " : " + ");
    if (k < 0) k = -k;
    if (k != 1 || !text) fc_str_printf(out, text ? "%lld*" : "%lld", (long long)k);
    if (text) fc_str_add(out, text);
    if (rest) fc_print_term(out, false, rest, text);
}

void fc_print_dim(fc_printer *p, fc_dim d, fc_str *out) {
    const fc_form *f = &p->dims.forms.at[d];
    if (!f->nterms) {
        fc_print_term(out, true, f->c, NULL);
        return;
    }
    term *terms = fc_arena_alloc(&p->arena, f->nterms * sizeof *terms);
    if (!terms) {
        p->oom = true;
        return;
    }
    for (uint32_t i = 0; i < f->nterms; i++) {
        uint32_t sym = f->terms[i].sym;
        bool named = p->dims.syms.at[sym].kind == FC_SYM_NAMED;
        fc_str s;
        fc_str_init(&s, p->g->alloc);
        print_sym(p, sym, &s);
        bool factor = !named && f->terms[i].coef != 1;
        fc_str t;
        fc_str_init(&t, p->g->alloc);
        fc_str_printf(&t, factor ? "(%s)" : "%s", s.data);
        term x = {named ? p->sym_order[sym] : UINT32_MAX, f->terms[i].coef,
                  fc_arena_strdup(&p->arena, t.data, t.len)};
        p->oom |= s.oom || t.oom || !x.text;
        fc_str_free(&s);
        fc_str_free(&t);
        if (p->oom) return;
        uint32_t k = i;
        for (; k > 0 && before(&x, &terms[k - 1]); k--) terms[k] = terms[k - 1];
        terms[k] = x;
    }
    for (uint32_t i = 0; i < f->nterms; i++)
        fc_print_term(out, i == 0, terms[i].coef, terms[i].text);
    if (f->c) fc_print_term(out, false, f->c, NULL);
}

void fc_print_shape(fc_printer *p, uint32_t rank, const int64_t *shape) {
    for (uint32_t i = 0; i < rank; i++) {
        fc_str_add(p->out, i ? ", " : "");
        fc_print_dim(p, (fc_dim)shape[i], p->out);
    }
}

void fc_print_type(fc_printer *p, fc_node n) {
    uint32_t rank = fc_rank(p->g, n);
    fc_str_add(p->out, fc_dtypes[fc_at(p->g, n)->dtype].name);
    if (!rank) return;
    fc_str_char(p->out, '[');
    fc_print_shape(p, rank, fc_list_at(p->g, fc_at(p->g, n)->shape));
    fc_str_char(p->out, ']');
}

/* ---- constants ------------------------------------------------------------------------------- */

static bool reads_back(fusec_dtype t, uint64_t bits, const char *text) {
    const char *end;
    double v;
    return fc_parse_double(text, &end, &v) && !*end && fc_const_bits(t, v) == bits;
}

void fc_print_const(fc_printer *p, fusec_dtype t, uint64_t bits) {
    fc_str s;
    double v = fc_const_value(t, bits);
    fc_str_init(&s, p->g->alloc);
    if (t == FUSEC_BOOL) {
        fc_str_add(&s, bits ? "true" : "false");
    } else if (t == FUSEC_U64) {
        fc_str_printf(&s, "%llu", (unsigned long long)bits);
    } else if (t == FUSEC_I64) {
        fc_str_printf(&s, "%lld", (long long)bits);
    } else if (!fc_is_float(t)) {
        fc_str_printf(&s, "%lld", (long long)v);
    } else {
        fc_str_double(&s, v, t != FUSEC_F64);
        if (v == v && !s.oom && !reads_back(t, bits, s.data)) {
            fc_str_clear(&s);
            fc_str_double(&s, v, false);
        }
        bool whole = s.data[strspn(s.data, "-0123456789")] == '\0';
        bool negative_zero = v == 0 && s.data[0] == '-';
        if (whole && (negative_zero || v > 1e15 || v < -1e15)) fc_str_add(&s, ".0");
        if (v != v) {
            fc_str_clear(&s);
            fc_str_add(&s, "nan");
        }
    }
    fc_str_printf(p->out, "%s(%s)", fc_dtypes[t].name, s.data);
    p->oom |= s.oom;
    fc_str_free(&s);
}
