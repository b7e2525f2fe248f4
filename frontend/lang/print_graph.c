/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* print_graph.c - a graph as a program of one export def.
 *
 * In: a graph with outputs. Out: text that reads back to the same nodes. Only what the outputs
 * depend on is printed, in topological order. A node with several uses gets a name, a constant is
 * a cast of a literal, every view is written out, and all values have a dtype, so that reading
 * inserts nothing.
 *
 * The text does not depend on the numbers of nodes and sizes: operands of commutative rows are in
 * the order in which reading makes them (parameters, names by their places in the text, then what
 * is written in place, then sizes and constants), and terms of sizes in the order of the
 * parameters. What a loop's condition shares with its body comes first there, as reading makes it
 * first. So printing what was read gives the same text. */
#include "frontend/lang/print_graph_impl.h"

#include "ir/fft.h"
#include "ir/fold.h"
#include "ir/loop.h"

#define INLINE_DEPTH 4 /* operations inside each other in one expression */

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_name(const char *s) {
    if (!fc_is_letter(*s) || (s[0] == '_' && !s[1])) return false;
    for (const char *p = s; *p; p++)
        if (!fc_is_word(*p)) return false;
    if (strlen(s) > FC_NAME_LIMIT - 12) return false;
    for (int k = 0; k < FC_TOK_COUNT; k++)
        if (fc_tok_word((fc_tok)k) && strcmp(fc_tok_text((fc_tok)k), s) == 0) return false;
    return strcmp(s, "True") != 0 && strcmp(s, "False") != 0;
}

/* The name itself, or with a number behind it, or `base` with a number. */
static const char *free_name(fc_printer *p, const char *name, const char *base, uint32_t *next) {
    uint32_t n = 0, unused;
    bool good = name && is_name(name);
    char text[FC_NAME_LIMIT + 1];
    fc_str s;
    fc_str_init(&s, p->g->alloc);
    if (good) fc_str_add(&s, name);
    while (!s.oom && (!s.len || fc_namemap_get(&p->taken, s.data, &unused))) {
        fc_str_clear(&s);
        fc_str_printf(&s, "%s%u", good ? name : base, good ? ++n : (*next)++);
    }
    size_t len = s.len < sizeof text ? s.len : sizeof text - 1;
    memcpy(text, s.data, len);
    text[len] = '\0';
    p->oom |= s.oom;
    fc_str_free(&s);
    const char *copy = fc_arena_strdup(&p->arena, text, len);
    if (copy && fc_namemap_put(p->g->alloc, &p->taken, copy, 0)) return copy;
    p->oom = true;
    return "";
}

/* ---- expressions ----------------------------------------------------------------------------- */

static const char *infix(int op) {
    for (int k = FC_OPER_OR; k < FC_OPER_COUNT; k++)
        if ((int)fc_c_row_of((fc_oper)k) == op) return fc_oper_text((fc_oper)k);
    return NULL;
}

static const char *prefix(int op) {
    return op == FC_OP_neg           ? "-"
           : op == FC_OP_bit_not     ? "~"
           : op == FC_OP_logical_not ? "not "
                                     : NULL;
}

static void print_node(fc_printer *p, fc_node n, bool operand);

enum operand_class { PARAMETER, NAMED, IN_PLACE, SIZE, CONSTANT }; /* how it is written */

static enum operand_class operand_class(const fc_printer *p, fc_node n) {
    switch (fc_at(p->g, n)->op) {
    case FC_OP_INPUT:
    case FC_OP_SLOT: return PARAMETER;
    case FC_OP_CONST: return CONSTANT;
    case FC_OP_DIM: return SIZE;
    default: return p->names[n] ? NAMED : IN_PLACE;
    }
}

/* Sizes are made anew wherever they are written, so their text is what orders them. */
static bool size_after(fc_printer *p, fc_dim a, fc_dim b) {
    fc_str x, y;
    fc_str_init(&x, p->g->alloc);
    fc_str_init(&y, p->g->alloc);
    fc_print_dim(p, a, &x);
    fc_print_dim(p, b, &y);
    bool after = strcmp(x.data, y.data) > 0;
    p->oom |= x.oom || y.oom;
    fc_str_free(&x);
    fc_str_free(&y);
    return after;
}

/* Of parameters of a body: the order in which reading makes them. */
static uint64_t slot_order(const fc_ninfo *slot) {
    return slot->attr % FC_MAX_RECORD * 2 + slot->attr / FC_MAX_RECORD;
}

void fc_print_set_name(fc_printer *p, fc_node n, const char *name) {
    p->names[n] = name;
    p->place[n] = p->next_place++;
}

static bool swapped(fc_printer *p, const fc_ninfo *i) {
    if (!(fc_ops[i->op].flags & FC_F_COMMUTES) || i->nops != 2) return false;
    enum operand_class a = operand_class(p, i->src[0]), b = operand_class(p, i->src[1]);
    const fc_ninfo *x = fc_at(p->g, i->src[0]), *y = fc_at(p->g, i->src[1]);
    if (a != b) return a > b;
    if (x->op == FC_OP_SLOT && y->op == FC_OP_SLOT) return slot_order(x) > slot_order(y);
    if (a == NAMED) return p->place[i->src[0]] > p->place[i->src[1]];
    if (a == SIZE) return size_after(p, (fc_dim)x->attr, (fc_dim)y->attr);
    return a == CONSTANT && x->attr > y->attr;
}

/* Operand k; einsum() spreads its operands itself. */
static fc_node written(const fc_printer *p, fc_node n, int k) {
    uint8_t labels[FC_MAX_RANK];
    const fc_ninfo *i = fc_at(p->g, n);
    return i->op == FC_OP_dot ? fc_dot_operand(p->g, n, k, labels) : i->src[k];
}

fc_node fc_print_operand(fc_printer *p, fc_node n, int k) {
    return written(p, n, swapped(p, fc_at(p->g, n)) ? 1 - k : k);
}

static void print_row(fc_printer *p, fc_node n, bool operand) {
    const fc_ninfo *i = fc_at(p->g, n);
    const char *in = infix(i->op), *pre = prefix(i->op);
    fc_node src[3];
    for (int k = 0; k < i->nops; k++) src[k] = fc_print_operand(p, n, k);
    if (pre || in) {
        if (operand) fc_str_char(p->out, '(');
        if (pre) fc_str_add(p->out, pre);
        print_node(p, src[0], true);
        if (!pre) {
            fc_str_printf(p->out, " %s ", in);
            print_node(p, src[1], true);
        }
        if (operand) fc_str_char(p->out, ')');
        return;
    }
    fc_str_printf(p->out, "%s(", fc_ops[i->op].name);
    for (int k = 0; k < i->nops; k++) {
        fc_str_add(p->out, k ? ", " : "");
        print_node(p, src[k], false);
    }
    fc_str_char(p->out, ')');
}

/* A literal negative bound would count from the end. */
static void print_bound(fc_printer *p, fc_dim d) {
    int64_t v;
    if (fc_dim_is_const(&p->dims, d, &v) && v < 0) {
        fc_str_char(p->out, '0');
        fc_print_term(p->out, false, v, NULL);
    } else {
        fc_print_dim(p, d, p->out);
    }
}

/* start:stop:step, so that reading finds the same size. */
static void print_slice(fc_printer *p, fc_dim axis, fc_dim start, int64_t step, fc_dim size) {
    fc_dimtab *t = &p->dims;
    fc_dim end = fc_dim_add(t, start, fc_dim_mul(t, size, fc_dim_const(t, step)));
    fc_dim stop = fc_dim_add(t, end, fc_dim_const(t, step > 0 ? 1 - step : -1 - step));
    int64_t v;
    if (stop == FC_DIM_NONE) { /* it lies between two that building made */
        p->oom = true;
        return;
    }
    bool zero = fc_dim_is_const(t, start, &v) && v == 0;
    if (step < 0 || !zero) print_bound(p, start);
    fc_str_char(p->out, ':');
    bool whole = step > 0 ? stop == axis : fc_dim_is_const(t, stop, &v) && v == -1;
    if (!whole) print_bound(p, stop);
    if (step != 1) fc_str_printf(p->out, ":%lld", (long long)step);
}

static void print_slices(fc_printer *p, const fc_ninfo *i) {
    uint32_t rank = fc_list_len(p->g, (fc_list)i->attr) / 3;
    print_node(p, i->src[0], true);
    fc_str_char(p->out, '[');
    for (uint32_t a = 0; a < rank; a++) {
        const int64_t *v = fc_list_at(p->g, (fc_list)i->attr) + 3 * a;
        fc_str_add(p->out, a ? ", " : "");
        print_slice(p, fc_axis(p->g, i->src[0], a), (fc_dim)v[0], v[1], (fc_dim)v[2]);
    }
    fc_str_char(p->out, ']');
}

static char label(uint8_t axis) {
    return (char)(axis < 26 ? 'a' + axis : 'A' + axis - 26);
}

static void print_axes(fc_printer *p, const fc_ninfo *i) {
    const int64_t *v = fc_list_at(p->g, (fc_list)i->attr);
    uint32_t n = fc_list_len(p->g, (fc_list)i->attr);
    if (n == 1) {
        fc_str_printf(p->out, ", axis=%lld", (long long)v[0]);
    } else {
        for (uint32_t k = 0; k < n; k++)
            fc_str_printf(p->out, "%s%lld", k ? ", " : ", axis=(", (long long)v[k]);
        fc_str_char(p->out, ')');
    }
    if (i->flags & FC_NODE_KEEPDIMS) fc_str_add(p->out, ", keepdims=true");
}

/* einsum("ac,cb->ab", x, y): the letters are axes of the domain. */
static void print_dot(fc_printer *p, fc_node n) {
    const fc_ninfo *i = fc_at(p->g, n);
    fc_node x[2];
    uint8_t labels[FC_MAX_RANK];
    uint64_t reduced = 0;
    const uint32_t rank = fc_rank(p->g, i->src[0]);
    for (uint32_t k = 0; k < fc_list_len(p->g, (fc_list)i->attr); k++)
        reduced |= UINT64_C(1) << fc_list_at(p->g, (fc_list)i->attr)[k];
    fc_str_add(p->out, "einsum(\"");
    for (int k = 0; k < 2; k++) {
        x[k] = fc_dot_operand(p->g, n, k, labels);
        for (uint32_t a = 0; a < fc_rank(p->g, x[k]); a++) fc_str_char(p->out, label(labels[a]));
        fc_str_add(p->out, k ? "->" : ",");
    }
    for (uint32_t a = 0; a < rank; a++)
        if (!(reduced >> a & 1)) fc_str_char(p->out, label((uint8_t)a));
    fc_str_add(p->out, "\", ");
    print_node(p, x[0], false);
    fc_str_add(p->out, ", ");
    print_node(p, x[1], false);
    fc_str_char(p->out, ')');
}

static void print_call(fc_printer *p, const fc_ninfo *i) {
    const bool stop = i->op == FC_OP_CAST && FC_CAST_KIND(i->attr) == FC_CAST_STOP;
    const char *name = stop                       ? "stop_grad"
                       : i->op == FC_OP_CAST      ? fc_dtypes[i->dtype].name
                       : i->op == FC_OP_BITCAST   ? "bitcast"
                       : i->op == FC_OP_PAIR      ? "complex"
                       : i->op == FC_OP_PART      ? i->attr ? "imag" : "real"
                       : i->op == FC_OP_BROADCAST ? "broadcast"
                       : i->op == FC_OP_RESHAPE   ? "reshape"
                       : i->op == FC_OP_PERMUTE   ? "transpose"
                       : fc_is_reduction(i->op)   ? fc_ops[i->op].name
                                                  : "materialize";
    fc_str_printf(p->out, "%s(", name);
    print_node(p, i->src[0], false);
    if (i->op == FC_OP_PAIR) {
        fc_str_add(p->out, ", ");
        print_node(p, i->src[1], false);
    }
    if (i->op == FC_OP_BITCAST) fc_str_printf(p->out, ", %s", fc_dtypes[i->dtype].name);
    if (i->op == FC_OP_BROADCAST || i->op == FC_OP_RESHAPE) {
        fc_str_add(p->out, ", [");
        fc_print_shape(p, fc_list_len(p->g, i->shape), fc_list_at(p->g, i->shape));
        fc_str_char(p->out, ']');
    }
    if (i->op == FC_OP_PERMUTE) {
        for (uint32_t k = 0; k < fc_list_len(p->g, (fc_list)i->attr); k++)
            fc_str_printf(p->out, "%s%lld", k ? ", " : ", [",
                          (long long)fc_list_at(p->g, (fc_list)i->attr)[k]);
        fc_str_char(p->out, ']');
    }
    if (fc_is_reduction(i->op)) print_axes(p, i);
    fc_str_char(p->out, ')');
}

/* An index with a check has it written into the call that reads there. */
static void print_take(fc_printer *p, const fc_ninfo *i) {
    const fc_ninfo *index = fc_at(p->g, i->src[1]);
    const bool checked = index->op == FC_OP_CHECK &&
                         fc_check_size(p->g, index) == fc_axis(p->g, i->src[0], (uint32_t)i->attr);
    fc_str_add(p->out, "take_along(");
    print_node(p, i->src[0], false);
    fc_str_add(p->out, ", ");
    print_node(p, i->src[1], false);
    fc_str_printf(p->out, ", axis=%llu", (unsigned long long)i->attr);
    if (i->flags & FC_NODE_INSIDE)
        fc_str_add(p->out, ", bounds=\"inside\"");
    else if (!checked)
        fc_str_add(p->out, ", bounds=\"zero\"");
    fc_str_char(p->out, ')');
}

static void print_scatter(fc_printer *p, const fc_ninfo *i) {
    const fc_ninfo *index = fc_at(p->g, i->src[1]);
    const fc_scatter s = fc_scatter_of(i);
    const bool checked =
        index->op == FC_OP_CHECK && fc_check_size(p->g, index) == fc_axis(p->g, i->src[0], s.axis);
    fc_str_add(p->out, "scatter_along(");
    for (int k = 0; k < 3; k++) {
        print_node(p, i->src[k], false);
        fc_str_add(p->out, ", ");
    }
    fc_str_printf(p->out, "op=\"%s\", axis=%u%s", s.op ? fc_ops[s.op].name : "set", s.axis,
                  s.unique ? ", unique=true" : "");
    if (i->flags & FC_NODE_INSIDE)
        fc_str_add(p->out, ", bounds=\"inside\"");
    else if (!checked)
        fc_str_add(p->out, ", bounds=\"drop\"");
    fc_str_char(p->out, ')');
}

/* view(a, [n, 3], [[1, "none", 1, 2], [0, "wrap", 0, 1]]): shape; start, mode and steps of each
 * axis of the operand. */
static void print_view(fc_printer *p, const fc_ninfo *i) {
    const uint32_t rank = fc_list_len(p->g, i->shape), n = fc_rank(p->g, i->src[0]);
    fc_str_add(p->out, "view(");
    print_node(p, i->src[0], false);
    fc_str_add(p->out, ", [");
    fc_print_shape(p, rank, fc_list_at(p->g, i->shape));
    fc_str_add(p->out, "], [");
    for (uint32_t k = 0; k < n; k++) {
        const int64_t *v = fc_list_at(p->g, (fc_list)i->attr) + 1 + (size_t)k * (2 + rank);
        fc_str_add(p->out, k ? ", [" : "[");
        fc_print_dim(p, (fc_dim)v[0], p->out);
        fc_str_printf(p->out, ", \"%s\"", fc_edge_names[v[1]]);
        for (uint32_t a = 0; a < rank; a++) fc_str_printf(p->out, ", %lld", (long long)v[2 + a]);
        fc_str_char(p->out, ']');
    }
    fc_str_add(p->out, "])");
}

/* argsort(k), and of some of its places argsort(k, first=f, count=n). */
static void print_order(fc_printer *p, const fc_ninfo *i) {
    const fc_ninfo *sort = fc_at(p->g, i->src[0]), *list = fc_at(p->g, sort->src[0]);
    fc_str_add(p->out, "argsort(");
    print_node(p, list->src[0], false);
    if (sort->shape) {
        const uint32_t rank = fc_list_len(p->g, sort->shape);
        fc_str_add(p->out, ", first=");
        print_node(p, fc_at(p->g, list->src[1])->src[0], false);
        fc_str_add(p->out, ", count=");
        fc_print_dim(p, (fc_dim)fc_list_at(p->g, sort->shape)[rank - 1], p->out);
    }
    fc_str_char(p->out, ')');
}

static void print_body(fc_printer *p, fc_node n, bool operand) {
    const fc_ninfo *i = fc_at(p->g, n);
    if (p->oom) return; /* without names what is written in place grows without bound */
    switch (i->op) {
    case FC_OP_CONST: fc_print_const(p, (fusec_dtype)i->dtype, i->attr); break;
    case FC_OP_DIM:
        fc_str_add(p->out, "i64(");
        fc_print_dim(p, (fc_dim)i->attr, p->out);
        fc_str_char(p->out, ')');
        break;
    case FC_OP_IOTA:
        fc_str_add(p->out, "arange(");
        fc_print_shape(p, 1, fc_list_at(p->g, i->shape));
        fc_str_char(p->out, ')');
        break;
    case FC_OP_RESULT: /* of a sort or a transform: others have names */
        if (fc_is_dft(p->g, n)) {
            static const char *const names[] = {"fft(", "ifft(", "rfft(", "irfft("};
            const fc_fft_kind kind = fc_dft_kind(p->g, n);
            fc_str_add(p->out, names[kind]);
            print_node(p, fc_dft_operand(p->g, n), false);
            if (kind == FC_FFT_INVERSE_REAL) {
                fc_str_add(p->out, ", n=");
                fc_print_dim(p, fc_axis(p->g, n, fc_rank(p->g, n) - 1), p->out);
            }
            fc_str_add(p->out, fc_fft_is_inverse(kind) ? ", norm=\"forward\")" : ")");
            break;
        }
        print_order(p, i);
        break;
    case FC_OP_SLICE: print_slices(p, i); break;
    case FC_OP_VIEW: print_view(p, i); break;
    case FC_OP_SCAN: {
        const fc_scan s = fc_scan_of(i);
        fc_str_printf(p->out, "cum%s(", fc_ops[s.op].name);
        print_node(p, i->src[0], false);
        fc_str_printf(p->out, ", axis=%u%s)", s.axis, s.exclusive ? ", exclusive=true" : "");
        break;
    }
    case FC_OP_TAKE: print_take(p, i); break;
    case FC_OP_SCATTER: print_scatter(p, i); break;
    case FC_OP_CHECK:
        fc_str_add(p->out, "check(");
        print_node(p, i->src[0], false);
        fc_str_add(p->out, ", ");
        fc_print_dim(p, fc_check_size(p->g, i), p->out);
        fc_str_char(p->out, ')');
        break;
    default:
        if (i->op == FC_OP_dot)
            print_dot(p, n);
        else if (fc_is_elementwise(i->op))
            print_row(p, n, operand);
        else if (i->op == FC_OP_EXTERN)
            fc_print_extern_call(p, i);
        else
            print_call(p, i);
    }
}

/* What is written in place is at most INLINE_DEPTH deep. */
static void print_node(fc_printer *p, fc_node n, bool operand) {
    if (p->names[n])
        fc_str_add(p->out, p->names[n]);
    else
        print_body(p, n, operand);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void count_uses(fc_printer *p) {
    const fc_graph *g = p->g;
    for (size_t i = 0; i < g->outputs.len; i++) p->uses[g->outputs.at[i].node]++;
    for (fc_node n = (fc_node)g->nodes.len; n-- > 0;) {
        const fc_ninfo *i = fc_at(g, n);
        for (int k = 0; k < i->nops && p->uses[n]; k++) p->uses[written(p, n, k)]++;
    }
}

/* Whether a node gets a name; sets its depth. */
static bool wants_name(fc_printer *p, fc_node n) {
    const fc_ninfo *i = fc_at(p->g, n);
    if (i->op == FC_OP_CONST || i->op == FC_OP_DIM || fc_is_part(i->op)) return false;
    if (fc_is_dft(p->g, n)) return p->depth[n] = 1, true; /* what is in it is not counted */
    const bool sorts = i->op == FC_OP_RESULT && fc_at(p->g, i->src[0])->op == FC_OP_SORT;
    if ((i->op == FC_OP_RESULT && !sorts) || i->op == FC_OP_HOLE)
        return false;                      /* their loop names them */
    uint8_t depth = i->op != FC_OP_RECORD; /* it is part of the call that it is for */
    for (int k = 0; k < i->nops; k++) {
        const fc_node s = written(p, n, k);
        if (!p->names[s] && p->depth[s] >= depth)
            depth = (uint8_t)(p->depth[s] + (i->op != FC_OP_RECORD));
    }
    p->depth[n] = depth;
    if (i->op == FC_OP_RECORD) return false;
    return p->uses[n] > 1 || depth > INLINE_DEPTH || i->op == FC_OP_FOLD;
}

static void name_sym(fc_printer *p, uint32_t sym) {
    uint32_t next = 0;
    if (p->syms[sym]) return;
    p->syms[sym] = free_name(p, p->dims.syms.at[sym].name, "d", &next);
    p->sym_order[sym] = p->sym_count++;
}

static void name_params(fc_printer *p) {
    const fc_graph *g = p->g;
    uint32_t sym, next = 0;
    for (size_t i = 0; i < g->inputs.len; i++) {
        fc_node n = g->inputs.at[i].node;
        for (uint32_t a = 0; a < fc_rank(g, n); a++)
            if (fc_dim_is_sym(&g->dims, fc_axis(g, n, a), &sym) &&
                g->dims.syms.at[sym].kind == FC_SYM_NAMED)
                name_sym(p, sym);
    }
    for (size_t i = 0; i < g->inputs.len; i++)
        fc_print_set_name(p, g->inputs.at[i].node, free_name(p, g->inputs.at[i].name, "x", &next));
}

static void print_params(fc_printer *p) {
    const fc_graph *g = p->g;
    uint32_t bound = p->sym_count, n = 0;
    for (uint32_t s = 0; s < g->dims.syms.len; s++)
        if (g->dims.syms.at[s].kind == FC_SYM_NAMED) name_sym(p, s);
    for (size_t i = 0; i < g->inputs.len; i++, n++) {
        fc_node x = g->inputs.at[i].node;
        fc_str_printf(p->out, "%s%s: ", n ? ", " : "", p->names[x]);
        fc_print_type(p, x);
    }
    for (uint32_t s = 0; s < g->dims.syms.len; s++)
        if (p->syms[s] && p->sym_order[s] >= bound)
            fc_str_printf(p->out, "%s%s: dim", n++ ? ", " : "", p->syms[s]);
}

static void print_results(fc_printer *p) {
    const fc_graph *g = p->g;
    bool one = g->outputs.len == 1 && strcmp(g->outputs.at[0].name, "out") == 0;
    fc_namemap params = p->taken; /* results have names of their own */
    memset(&p->taken, 0, sizeof p->taken);
    uint32_t next = 1;
    if (!one) fc_str_char(p->out, '(');
    for (size_t i = 0; i < g->outputs.len; i++) {
        if (i) fc_str_add(p->out, ", ");
        if (!one) fc_str_printf(p->out, "%s: ", free_name(p, g->outputs.at[i].name, "out", &next));
        fc_print_type(p, g->outputs.at[i].node);
    }
    if (!one) fc_str_char(p->out, ')');
    fc_namemap_free(g->alloc, &p->taken);
    p->taken = params;
}

const char *fc_print_new_name(fc_printer *p) {
    return free_name(p, NULL, "t", &p->next_value);
}

void fc_print_node(fc_printer *p, fc_node n) {
    print_node(p, n, false);
}

void fc_print_body(fc_printer *p, fc_node n) {
    print_body(p, n, false);
}

bool fc_print_wants_name(fc_printer *p, fc_node n) {
    return wants_name(p, n);
}

bool fc_print_is_deep(fc_printer *p, fc_node n) {
    return wants_name(p, n) && p->depth[n] > INLINE_DEPTH;
}

const char *fc_print_free_name(fc_printer *p, const char *base, uint32_t *next) {
    return free_name(p, NULL, base, next);
}

/* The innermost of the loops whose holes a node is made of: the one with the lowest level. */
static uint32_t scope_of(const fc_printer *p, fc_node n) {
    return p->levels[n] ? (uint32_t)__builtin_ctzll(p->levels[n]) : 0;
}

void fc_print_statement(fc_printer *p, fc_node n, uint32_t level, uint32_t indent) {
    if (p->bound[n] || scope_of(p, n) != level) return;
    if (fc_at(p->g, n)->op == FC_OP_LOOP && !p->names[n]) fc_print_loop(p, n, indent);
    if (p->names[n] || !wants_name(p, n)) return;
    if (fc_at(p->g, n)->op == FC_OP_FOLD) {
        fc_print_fold(p, n, indent);
        return;
    }
    const char *own = fc_print_new_name(p);
    fc_str_printf(p->out, "%*s%s = ", (int)indent, "", own);
    print_body(p, n, false);
    fc_str_char(p->out, '\n');
    fc_print_set_name(p, n, own);
}

void fc_print_scope(fc_printer *p, const uint8_t *need, uint32_t level, uint32_t indent) {
    const fc_graph *g = p->g;
    for (fc_node n = 0; n < g->nodes.len && !p->oom; n++) {
        if (need[n]) fc_print_statement(p, n, level, indent);
    }
}

static void print_def(fc_printer *p, const char *name) {
    const fc_graph *g = p->g;
    bool function = name && is_name(name) && !fc_c_is_builtin(name);
    fusec_dtype t;
    if (function && fc_dtype_by_name(name, strlen(name), &t)) function = false;
    p->oom |= !fc_namemap_put(g->alloc, &p->taken, "inf", 0);
    p->oom |= !fc_namemap_put(g->alloc, &p->taken, "nan", 0);
    p->bound = fc_arena_alloc(&p->arena, g->nodes.len + 1);
    if (!p->bound) {
        p->oom = true;
        return;
    }
    fc_find_bound(g, p->bound);
    fc_print_externs(p, &name);
    function &= name != NULL;
    fc_print_bodies(p, function ? name : "graph");
    name_params(p);
    fc_str_printf(p->out, "export def %s(", function ? name : "graph");
    print_params(p);
    fc_str_add(p->out, ") -> ");
    print_results(p);
    fc_str_add(p->out, " {\n");
    uint8_t *used = fc_malloc(g->alloc, g->nodes.len + 1);
    for (fc_node n = 0; used && n < g->nodes.len; n++) used[n] = p->uses[n] != 0;
    if (used) fc_print_scope(p, used, 0, 4);
    p->oom |= !used;
    fc_free(g->alloc, used);
    fc_str_add(p->out, "    return ");
    for (size_t i = 0; i < g->outputs.len; i++) {
        fc_str_add(p->out, i ? ", " : "");
        print_node(p, g->outputs.at[i].node, false);
    }
    fc_str_add(p->out, "\n}\n");
    p->oom |= p->definitions.oom;
    if (!p->oom && p->definitions.len) fc_str_add(p->out, p->definitions.data);
}

void fc_lang_print_graph(const fc_graph *g, const char *name, fc_str *out) {
    size_t n = g->nodes.len + 1, s = g->dims.syms.len + 1;
    fc_printer p = {.g = g, .out = out};
    fc_arena_init(&p.arena, g->alloc);
    fc_str_init(&p.definitions, g->alloc);
    fc_dimtab_init(&p.dims, g->alloc);
    p.oom = !fc_dimtab_copy(&p.dims, &g->dims);
    p.uses = fc_calloc(g->alloc, n, sizeof *p.uses);
    p.depth = fc_calloc(g->alloc, n, sizeof *p.depth);
    p.names = fc_calloc(g->alloc, n, sizeof *p.names);
    p.place = fc_calloc(g->alloc, n, sizeof *p.place);
    p.syms = fc_calloc(g->alloc, s, sizeof *p.syms);
    p.sym_order = fc_calloc(g->alloc, s, sizeof *p.sym_order);
    p.levels = fc_malloc(g->alloc, n * sizeof *p.levels);
    if (p.levels) fc_body_levels(g, p.levels);
    if (!p.oom && p.levels && p.uses && p.depth && p.names && p.place && p.syms && p.sym_order) {
        count_uses(&p);
        print_def(&p, name);
    } else {
        p.oom = true;
    }
    out->oom |= p.oom;
    fc_free(g->alloc, p.uses);
    fc_free(g->alloc, p.depth);
    fc_free(g->alloc, p.names);
    fc_free(g->alloc, p.place);
    fc_free(g->alloc, p.syms);
    fc_free(g->alloc, p.sym_order);
    fc_free(g->alloc, p.levels);
    fc_str_free(&p.definitions);
    fc_namemap_free(g->alloc, &p.taken);
    fc_vec_free(g->alloc, &p.externs);
    fc_arena_free(&p.arena);
    fc_dimtab_free(&p.dims);
}
