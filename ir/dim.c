/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* dim.c - interned linear forms over symbols: see dim.h. */
#include "ir/dim.h"

void fc_dimtab_init(fc_dimtab *t, const fc_alloc *alloc) {
    memset(t, 0, sizeof *t);
    t->alloc = alloc;
    fc_arena_init(&t->arena, alloc);
}

void fc_dimtab_free(fc_dimtab *t) {
    fc_vec_free(t->alloc, &t->syms);
    fc_vec_free(t->alloc, &t->forms);
    fc_free(t->alloc, t->slots);
    fc_arena_free(&t->arena);
    memset(t, 0, sizeof *t);
}

const char *fc_dim_fault(const fc_dimtab *t) {
    return t->too_long ? "is too long: written out it has more than 1024 names or 64 levels"
                       : "does not fit 64 bits";
}

fusec_status fc_dim_fail(const fc_dimtab *t, fc_error *e, const char *what) {
    return t->oom ? fc_oom(e) : fc_fail(e, FUSEC_LIMIT, "%s %s", what, fc_dim_fault(t));
}

static fc_dim no_memory(fc_dimtab *t) {
    t->oom = true;
    return FC_DIM_NONE;
}

/* ---- interning --------------------------------------------------------------------------- */

static uint64_t form_hash(int64_t c, const fc_term *terms, uint32_t n) {
    uint64_t h = fc_mix(17, (uint64_t)c);
    for (uint32_t i = 0; i < n; i++) h = fc_mix(fc_mix(h, terms[i].sym), (uint64_t)terms[i].coef);
    return h;
}

static bool form_equal(const fc_form *f, int64_t c, const fc_term *terms, uint32_t n) {
    if (f->c != c || f->nterms != n) return false;
    for (uint32_t i = 0; i < n; i++)
        if (f->terms[i].sym != terms[i].sym || f->terms[i].coef != terms[i].coef) return false;
    return true;
}

static bool grow_slots(fc_dimtab *t) {
    uint32_t n = t->nslots ? t->nslots * 2 : 64;
    uint32_t *slots = fc_calloc(t->alloc, n, sizeof *slots);
    if (!slots) return false;
    for (uint32_t id = 0; id < t->forms.len; id++) {
        const fc_form *f = &t->forms.at[id];
        uint64_t h = form_hash(f->c, f->terms, f->nterms);
        while (slots[h & (n - 1)]) h++;
        slots[h & (n - 1)] = id + 1;
    }
    fc_free(t->alloc, t->slots);
    t->slots = slots;
    t->nslots = n;
    return true;
}

static fc_dim intern(fc_dimtab *t, int64_t c, const fc_term *terms, uint32_t n) {
    if (t->forms.len * 2 >= t->nslots && !grow_slots(t)) return no_memory(t);
    uint64_t h = form_hash(c, terms, n);
    for (; t->slots[h & (t->nslots - 1)]; h++) {
        fc_dim id = t->slots[h & (t->nslots - 1)] - 1;
        if (form_equal(&t->forms.at[id], c, terms, n)) return id;
    }
    fc_term *copy = NULL;
    if (n) {
        copy = fc_arena_alloc(&t->arena, n * sizeof *copy);
        if (!copy) return no_memory(t);
        memcpy(copy, terms, n * sizeof *copy);
    }
    fc_form f = {.c = c, .nterms = n, .terms = copy};
    if (t->forms.len >= FC_DIM_NONE - 1) return FC_DIM_NONE;
    if (!fc_push(t->alloc, &t->forms, f)) return no_memory(t);
    t->slots[h & (t->nslots - 1)] = (uint32_t)t->forms.len;
    return (fc_dim)(t->forms.len - 1);
}

bool fc_dimtab_copy(fc_dimtab *to, const fc_dimtab *from) {
    for (size_t i = 0; i < from->syms.len; i++) {
        fc_sym s = from->syms.at[i];
        if (s.name && !(s.name = fc_arena_strdup(&to->arena, s.name, strlen(s.name)))) return false;
        if (!fc_push(to->alloc, &to->syms, s)) return false;
    }
    for (size_t i = 0; i < from->forms.len; i++) {
        const fc_form *f = &from->forms.at[i];
        if (intern(to, f->c, f->terms, f->nterms) != i) return false;
    }
    return true;
}

/* ---- symbols ----------------------------------------------------------------------------- */

static fc_dim add_sym(fc_dimtab *t, fc_sym s) {
    if (!fc_push(t->alloc, &t->syms, s)) return no_memory(t);
    fc_term one = {.sym = (uint32_t)(t->syms.len - 1), .coef = 1};
    return intern(t, 0, &one, 1);
}

fc_dim fc_dim_fresh(fc_dimtab *t, const char *name) {
    char *copy = fc_arena_strdup(&t->arena, name, strlen(name));
    if (!copy) return no_memory(t);
    return add_sym(t, (fc_sym){.kind = FC_SYM_NAMED, .name = copy, .names = 1});
}

fc_dim fc_dim_named(fc_dimtab *t, const char *name) {
    for (uint32_t i = 0; i < t->syms.len; i++)
        if (t->syms.at[i].kind == FC_SYM_NAMED && !strcmp(t->syms.at[i].name, name)) {
            fc_term one = {.sym = i, .coef = 1};
            return intern(t, 0, &one, 1);
        }
    return fc_dim_fresh(t, name);
}

/* Adds the text of an operand to that of `s`. */
static void measure(const fc_dimtab *t, fc_sym *s, fc_dim operand) {
    const fc_form *f = &t->forms.at[operand];
    for (uint32_t i = 0; i < f->nterms; i++) {
        const fc_sym *x = &t->syms.at[f->terms[i].sym];
        s->names = (uint16_t)(s->names + x->names);
        if (s->names > FC_DIM_NAMES) s->names = FC_DIM_NAMES + 1;
        if (s->depth <= x->depth && s->depth <= FC_DIM_DEPTH) s->depth = (uint16_t)(x->depth + 1);
    }
}

static fc_dim opaque(fc_dimtab *t, fc_symkind kind, fc_dim a, fc_dim b) {
    for (uint32_t i = 0; i < t->syms.len; i++) {
        const fc_sym *s = &t->syms.at[i];
        if (s->kind == kind && s->a == a && s->b == b) {
            fc_term one = {.sym = i, .coef = 1};
            return intern(t, 0, &one, 1);
        }
    }
    fc_sym s = {.kind = kind, .a = a, .b = b};
    measure(t, &s, a);
    measure(t, &s, b);
    bool fits = s.names <= FC_DIM_NAMES && s.depth <= FC_DIM_DEPTH;
    if (fits || !t->written) return add_sym(t, s);
    t->too_long = true;
    return FC_DIM_NONE;
}

/* ---- arithmetic -------------------------------------------------------------------------- */

fc_dim fc_dim_const(fc_dimtab *t, int64_t c) {
    return intern(t, c, NULL, 0);
}

fc_dim fc_dim_form(fc_dimtab *t, int64_t c, const fc_term *terms, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!terms[i].coef || terms[i].sym >= t->syms.len ||
            (i && terms[i].sym <= terms[i - 1].sym))
            return FC_DIM_NONE;
    return intern(t, c, terms, n);
}

bool fc_dim_is_const(const fc_dimtab *t, fc_dim d, int64_t *value) {
    if (d == FC_DIM_NONE || t->forms.at[d].nterms) return false;
    if (value) *value = t->forms.at[d].c;
    return true;
}

bool fc_dim_is_sym(const fc_dimtab *t, fc_dim d, uint32_t *sym) {
    if (d == FC_DIM_NONE) return false;
    const fc_form *f = &t->forms.at[d];
    if (f->c || f->nterms != 1 || f->terms[0].coef != 1) return false;
    if (sym) *sym = f->terms[0].sym;
    return true;
}

/* a + k*b; -b may not fit where the sum does. */
static bool add_scaled(int64_t a, int64_t b, int64_t k, int64_t *out) {
    int64_t scaled;
    if (k == -1) return !__builtin_sub_overflow(a, b, out);
    return fc_mul_ok(b, k, &scaled) && fc_add_ok(a, scaled, out);
}

/* a + k*b, the one loop behind add, sub and scaling. */
static fc_dim combine(fc_dimtab *t, fc_dim a, fc_dim b, int64_t k) {
    if (a == FC_DIM_NONE || b == FC_DIM_NONE) return FC_DIM_NONE;
    fc_form fa = t->forms.at[a], fb = t->forms.at[b];
    fc_term small[16];
    uint32_t need = fa.nterms + fb.nterms, n = 0;
    fc_term *out = need <= FC_COUNT(small) ? small : fc_malloc(t->alloc, need * sizeof *out);
    if (!out) return no_memory(t);
    int64_t c = 0;
    bool ok = add_scaled(fa.c, fb.c, k, &c);
    for (uint32_t i = 0, j = 0; ok && (i < fa.nterms || j < fb.nterms);) {
        bool take_a = j == fb.nterms || (i < fa.nterms && fa.terms[i].sym <= fb.terms[j].sym);
        bool take_b = i == fa.nterms || (j < fb.nterms && fb.terms[j].sym <= fa.terms[i].sym);
        fc_term r = {.sym = take_a ? fa.terms[i].sym : fb.terms[j].sym, .coef = 0};
        if (take_a) r.coef = fa.terms[i++].coef;
        if (take_b) ok = add_scaled(r.coef, fb.terms[j++].coef, k, &r.coef);
        if (ok && r.coef) out[n++] = r;
    }
    fc_dim d = ok ? intern(t, c, out, n) : FC_DIM_NONE;
    if (!ok) t->too_long = false;
    if (out != small) fc_free(t->alloc, out);
    return d;
}

fc_dim fc_dim_add(fc_dimtab *t, fc_dim a, fc_dim b) {
    return combine(t, a, b, 1);
}
fc_dim fc_dim_sub(fc_dimtab *t, fc_dim a, fc_dim b) {
    return combine(t, a, b, -1);
}

fc_dim fc_dim_mul(fc_dimtab *t, fc_dim a, fc_dim b) {
    int64_t k;
    if (a == FC_DIM_NONE || b == FC_DIM_NONE) return FC_DIM_NONE;
    if (fc_dim_is_const(t, b, &k)) return combine(t, fc_dim_const(t, 0), a, k);
    if (fc_dim_is_const(t, a, &k)) return combine(t, fc_dim_const(t, 0), b, k);
    return a < b ? opaque(t, FC_SYM_MUL, a, b) : opaque(t, FC_SYM_MUL, b, a);
}

static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b && (a < 0) != (b < 0) ? q - 1 : q;
}

/* (k*A + r) // k is A + r // k; FC_DIM_NONE when a coefficient is no multiple of k. */
static fc_dim divide_form(fc_dimtab *t, fc_dim a, int64_t k) {
    const fc_form f = t->forms.at[a];
    fc_term small[16];
    if (!f.nterms || f.nterms > FC_COUNT(small) || k == -1) return FC_DIM_NONE;
    for (uint32_t i = 0; i < f.nterms; i++) {
        if (f.terms[i].coef % k) return FC_DIM_NONE;
        small[i] = (fc_term){.sym = f.terms[i].sym, .coef = f.terms[i].coef / k};
    }
    return intern(t, floor_div(f.c, k), small, f.nterms);
}

fc_dim fc_dim_floordiv(fc_dimtab *t, fc_dim a, fc_dim b) {
    int64_t x, y;
    if (a == FC_DIM_NONE || b == FC_DIM_NONE) return FC_DIM_NONE;
    if (fc_dim_is_const(t, b, &y)) {
        if (y == 0 || y == INT64_MIN) return FC_DIM_NONE;
        if (y == 1) return a;
        if (fc_dim_is_const(t, a, &x))
            return x == INT64_MIN && y == -1 ? FC_DIM_NONE : fc_dim_const(t, floor_div(x, y));
        fc_dim exact = divide_form(t, a, y);
        if (exact != FC_DIM_NONE || t->oom) return exact;
    }
    return opaque(t, FC_SYM_FLOORDIV, a, b);
}

fc_dim fc_dim_mod(fc_dimtab *t, fc_dim a, fc_dim b) {
    int64_t x, y;
    if (a == FC_DIM_NONE || b == FC_DIM_NONE) return FC_DIM_NONE;
    if (fc_dim_is_const(t, b, &y)) {
        if (y == 0 || y == INT64_MIN) return FC_DIM_NONE;
        if (y == 1 || y == -1) return fc_dim_const(t, 0);
        if (fc_dim_is_const(t, a, &x)) return fc_dim_const(t, x - floor_div(x, y) * y);
        if (divide_form(t, a, y) != FC_DIM_NONE) {
            x = t->forms.at[a].c;
            return fc_dim_const(t, x - floor_div(x, y) * y);
        }
        if (t->oom) return FC_DIM_NONE;
    }
    return opaque(t, FC_SYM_MOD, a, b);
}

bool fc_dim_diff(const fc_dimtab *t, fc_dim a, fc_dim b, int64_t *diff) {
    if (a == FC_DIM_NONE || b == FC_DIM_NONE) return false;
    const fc_form *fa = &t->forms.at[a], *fb = &t->forms.at[b];
    if (fa->nterms != fb->nterms) return false;
    for (uint32_t i = 0; i < fa->nterms; i++)
        if (fa->terms[i].sym != fb->terms[i].sym || fa->terms[i].coef != fb->terms[i].coef)
            return false;
    return !__builtin_sub_overflow(fa->c, fb->c, diff);
}

/* ---- values ------------------------------------------------------------------------------ */

static bool eval_sym(const fc_sym *s, const int64_t *values, int64_t *out) {
    int64_t a = values[s->a], b = values[s->b];
    if (s->kind == FC_SYM_MUL) return fc_mul_ok(a, b, out);
    if (b == 0 || b == INT64_MIN || (a == INT64_MIN && b == -1)) return false;
    int64_t q = floor_div(a, b);
    *out = s->kind == FC_SYM_FLOORDIV ? q : a - q * b;
    return true;
}

bool fc_dims_eval(const fc_dimtab *t, int64_t *sym_values, int64_t *values, fc_dim *bad) {
    uint32_t next_sym = 0;
    for (fc_dim d = 0; d < t->forms.len; d++) {
        const fc_form *f = &t->forms.at[d];
        if (bad) *bad = d;
        /* a form that uses an opaque symbol has a larger id than the symbol's operands */
        for (uint32_t i = 0; i < f->nterms; i++)
            for (; next_sym <= f->terms[i].sym; next_sym++)
                if (t->syms.at[next_sym].kind != FC_SYM_NAMED &&
                    !eval_sym(&t->syms.at[next_sym], values, &sym_values[next_sym]))
                    return false;
        int64_t v = f->c;
        for (uint32_t i = 0; i < f->nterms; i++) {
            int64_t p;
            if (!fc_mul_ok(f->terms[i].coef, sym_values[f->terms[i].sym], &p) ||
                !fc_add_ok(v, p, &v))
                return false;
        }
        values[d] = v;
    }
    return true;
}

bool fc_dims_eval_known(const fc_dimtab *t, int64_t *sym_values, bool *sym_known, int64_t *values,
                        bool *known, fc_dim *bad) {
    uint32_t next_sym = 0;
    for (fc_dim d = 0; d < t->forms.len; d++) {
        const fc_form *f = &t->forms.at[d];
        *bad = d;
        known[d] = true;
        values[d] = f->c;
        for (uint32_t i = 0; i < f->nterms; i++) {
            uint32_t sym = f->terms[i].sym;
            for (; next_sym <= sym; next_sym++) {
                const fc_sym *s = &t->syms.at[next_sym];
                if (s->kind == FC_SYM_NAMED) continue;
                sym_known[next_sym] = known[s->a] && known[s->b];
                if (sym_known[next_sym] && !eval_sym(s, values, &sym_values[next_sym]))
                    return false;
            }
            int64_t p;
            known[d] = known[d] && sym_known[sym];
            if (known[d] && (!fc_mul_ok(f->terms[i].coef, sym_values[sym], &p) ||
                             !fc_add_ok(values[d], p, &values[d])))
                return false;
        }
    }
    return true;
}

/* ---- text -------------------------------------------------------------------------------- */

static void print_sym(const fc_dimtab *t, uint32_t sym, fc_str *out);

static void print_operand(const fc_dimtab *t, fc_dim d, fc_str *out) {
    bool simple = fc_dim_is_const(t, d, NULL) || fc_dim_is_sym(t, d, NULL);
    if (!simple) fc_str_char(out, '(');
    fc_dim_print(t, d, out);
    if (!simple) fc_str_char(out, ')');
}

/* Recursion over opaque terms; the depth is that of what the user wrote in one size. */
static void print_sym(const fc_dimtab *t, uint32_t sym, fc_str *out) {
    const fc_sym *s = &t->syms.at[sym];
    if (s->kind == FC_SYM_NAMED) {
        fc_str_add(out, s->name);
        return;
    }
    if (out->len > 4096) { /* a size nobody reads any more; bounds the recursion */
        fc_str_add(out, "...");
        return;
    }
    print_operand(t, s->a, out);
    fc_str_add(out, s->kind == FC_SYM_MUL ? "*" : s->kind == FC_SYM_MOD ? " % " : "//");
    print_operand(t, s->b, out);
}

void fc_dim_print(const fc_dimtab *t, fc_dim d, fc_str *out) {
    if (d == FC_DIM_NONE) {
        fc_str_add(out, "?");
        return;
    }
    const fc_form *f = &t->forms.at[d];
    for (uint32_t i = 0; i < f->nterms; i++) {
        int64_t k = f->terms[i].coef;
        if (i)
            fc_str_add(out, k < 0 ? " - " : " + ");
        else if (k < 0)
            fc_str_char(out, '-');
        uint64_t mag = k < 0 ? 0 - (uint64_t)k : (uint64_t)k;
        bool compound = t->syms.at[f->terms[i].sym].kind != FC_SYM_NAMED;
        if (mag != 1) fc_str_printf(out, "%llu*", (unsigned long long)mag);
        if (mag != 1 && compound) fc_str_char(out, '(');
        print_sym(t, f->terms[i].sym, out);
        if (mag != 1 && compound) fc_str_char(out, ')');
    }
    if (!f->nterms)
        fc_str_printf(out, "%lld", (long long)f->c);
    else if (f->c)
        fc_str_printf(out, " %c %llu", f->c < 0 ? '-' : '+',
                      (unsigned long long)(f->c < 0 ? 0 - (uint64_t)f->c : (uint64_t)f->c));
}
