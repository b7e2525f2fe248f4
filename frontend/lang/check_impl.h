/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* check_impl.h - what the files of the checker share.
 *
 * The checker walks over the numbered expressions of a statement from the operands up and keeps a
 * value for each. A call of a definition suspends the walk: a new frame on a heap stack binds the
 * arguments and runs the body, and its results become the value of the call. No function calls
 * itself.
 *
 * A value with a mistake is FC_V_UNKNOWN, and nothing that touches it complains. Mistakes that the
 * graph's builders find come through fc_c_built, which reports them at the current expression. */
#ifndef FUSEC_FRONTEND_LANG_CHECK_IMPL_H
#define FUSEC_FRONTEND_LANG_CHECK_IMPL_H

#include "frontend/lang/compile.h"
#include "frontend/lang/suggest.h"

__extension__ typedef __int128
    fc_wide; /* holds every exact integer, and sums and products of two */

/* ---- values ---------------------------------------------------------------------------------- */

typedef enum fc_vkind {
    FC_V_UNKNOWN, /* wrong, and reported */
    FC_V_NODE,    /* in the graph; weak: a scalar i64, f64 or bool that still takes any dtype */
    FC_V_INT,     /* weak constants */
    FC_V_FLOAT,
    FC_V_BOOL,
    FC_V_DIM,   /* a size, not constant; weak integer */
    FC_V_INDEX, /* dim + sum of terms: an index of an index definition; weak integer */
    FC_V_TUPLE, /* several results, or ( , ) */
    FC_V_LIST,
    FC_V_STRING
} fc_vkind;

/* How weak operands rank among each other. */
typedef enum fc_weakness { FC_W_STRONG, FC_W_BOOL, FC_W_INT, FC_W_FLOAT, FC_W_COMPLEX } fc_weakness;

/* Part of an index: `coef` times the number of the element along axis `axis` of the definition. */
typedef struct fc_index_term {
    uint32_t axis;
    int64_t coef;
    fc_dim size; /* of that axis */
} fc_index_term;

typedef struct fc_value {
    uint8_t kind;   /* fc_vkind */
    uint8_t weak;   /* of a NODE: fc_weakness */
    bool element;   /* a NODE in an index definition: one scalar for each element. The axes of the
                       node are those of the definition, from the first on; 1 where it is the same
                       for all */
    uint32_t count; /* of items or terms */
    union {
        fc_node node;
        fc_dim dim;
        bool truth;
        double f;
        struct fc_value *items; /* TUPLE and LIST */
    };
    fc_wide i;
    union {
        const char *const *names;   /* of a TUPLE of results, may be NULL */
        const fc_index_term *terms; /* of an INDEX */
    };
    const uint8_t *edges; /* of a NODE: the fc_edge of each axis for index definitions, or NULL */
} fc_value;

#define FC_UNKNOWN ((fc_value){.kind = FC_V_UNKNOWN})

/* ---- names ----------------------------------------------------------------------------------- */

/* Whether a name stands in a list that ends with NULL. */
static inline bool fc_c_listed(const char *const *names, const char *name) {
    for (; *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

/* From names to numbers; the strings must stay. */
typedef struct fc_namemap {
    const char **keys;
    uint32_t *values;
    uint32_t len, cap;
} fc_namemap;

typedef struct fc_binding {
    const char *name;
    fc_value value;
    fc_range at;
    const char *origin;  /* of an input of a snippet: "a.npy" */
    const fc_type *type; /* of a parameter that has one */
    bool quiet;          /* no warning when it is never used */
    bool used;
    bool gone; /* it was local to a round of a loop */
} fc_binding;

typedef struct fc_dim_binding {
    const char *name;
    fc_dim dim;
    const fc_param *from;
    int64_t size; /* at the top: what an input says, -1 if none does */
    uint32_t from_input;
} fc_dim_binding;

/* ---- indices --------------------------------------------------------------------------------- */

#define FC_INDEX_LIMIT 60 /* indices of one statement */

/* An index and where it is known: nodes first .. last of an expression. */
typedef struct fc_binder {
    const char *name;
    fc_range at;
    uint32_t first, last;
    uint32_t axis;     /* of the definition */
    bool given, known; /* has a range, written or found */
    const fc_expr *range;
    fc_dim low, size;
    const fc_expr *from; /* the access that gave it */
    bool reduction;
    bool ragged; /* its range is data (check_ragged.c): `size` is that of what it indexes, */
    fc_node begin, value, length; /* of it, and how many there are; FC_NONODE: not made yet */
} fc_binder;

/* The expressions of a statement with indices are evaluated in two passes: first what needs no
 * index, so that accesses can give ranges, then the rest. */
typedef enum fc_pass { FC_ONE_PASS, FC_PASS_ARRAYS, FC_PASS_ELEMENTS } fc_pass;

/* ---- loops ----------------------------------------------------------------------------------- */

typedef struct fc_carried {
    const char *name;
    fc_range at;
    fc_value value; /* at the beginning of the round */
    fc_value start; /* of the loop */
    fc_node hole;   /* of a launch */
} fc_carried;

/* path[k] = v in a loop over k. */
typedef struct fc_collected {
    const char *name;
    fc_range at;
    fc_value value;
} fc_collected;

typedef enum fc_loop_phase { FC_LP_LOW, FC_LP_HIGH, FC_LP_CONDITION, FC_LP_BODY } fc_loop_phase;

typedef struct fc_loop {
    const fc_stmt *stmt;
    fc_loop_phase phase; /* what is being evaluated */
    fc_wide at, end;     /* the next round, and the one behind the last */
    fc_node mask;        /* of the elements that go on; FC_NONODE: all */
    bool has_outer;
    fc_value outer;      /* what the name of the counter was before */
    bool launch;         /* the body stands once, made of holes (check_launch.c) */
    bool tried;          /* that, and it did not work out: rounds are put in */
    bool elements;       /* it is to be one that elements make on their own, inside of a kernel */
    bool open;           /* a bound is no constant */
    fc_wide from;        /* the first round */
    fc_node first, last; /* of a launch: the bounds, i64 */
    fc_node counter, condition;
    fc_node mask_hole, mask_start;  /* of the elements that go on, FC_NONODE: all do */
    uint32_t draws, diags, dropped; /* what there was before the first round */
    fusec_status first_error;
    FC_VEC(fc_collected) collected;
    FC_VEC(fc_carried) carried;
    FC_VEC(const char *) local;
    fc_namemap seen; /* the names of both */
    uint32_t errors; /* that there were before */
} fc_loop;

/* ---- frames ---------------------------------------------------------------------------------- */

typedef enum fc_phase { FC_PH_DEFAULTS, FC_PH_BODY, FC_PH_CONST } fc_phase;

typedef struct fc_call {
    const fc_ast *ast;
    uint32_t scope;     /* whose names it sees */
    const fc_item *def; /* NULL: a snippet or a const */
    fc_phase phase;
    uint32_t const_id;   /* of a const */
    bool top;            /* its parameters are inputs */
    const fc_expr *site; /* the call; NULL at the top */
    const fc_ast *site_ast;
    uint32_t *input_of; /* at the top: the input of each parameter, or FC_LANG_NONE */

    FC_VEC(fc_binding) names;
    fc_namemap map;
    FC_VEC(fc_dim_binding) dims;
    bool has_rest; /* "..." is bound */
    uint32_t rest_rank;
    fc_dim rest[FC_MAX_RANK];
    uint8_t letters[26]; /* dtype variables: fusec_dtype + 1, 0 = not bound */

    struct fc_folding *fold;  /* it makes one record of two (check_fold.c) */
    struct fc_own_rule *rule; /* the call gives the derivative of another one (check_rule.c) */
    fc_value *args;           /* of the parameters */
    bool *given;              /* false: the default */
    uint32_t next_default;

    const fc_stmt *stmt;  /* being evaluated, or next */
    const fc_expr *value; /* of a return or result: the next one of the list */
    FC_VEC(fc_value) results;
    FC_VEC(const fc_expr *) result_exprs;
    bool returned;

    const fc_expr *root;        /* the expression being evaluated; NULL: none */
    const fc_expr *done;        /* the one whose values are in `vals` */
    uint32_t at;                /* number of the next node */
    fc_value *vals;             /* of nodes root->first .. root->id */
    uint8_t *roles;             /* fc_role_kind of the same nodes */
    size_t room;                /* of vals, roles and masks */
    const fc_expr *member_root; /* the expression whose members were reported */

    FC_VEC(fc_loop) loops;     /* that the statement is in */
    FC_VEC(fc_binder) left;    /* the indices on the left of the statement */
    const fc_expr *next_range; /* of an index there, to be evaluated */
    FC_VEC(fc_binder) binders; /* of the expression */
    uint64_t *masks;           /* of its nodes: which binders they need; bit 63: a reduction */
    fc_pass pass;
    uint32_t base; /* axes of the definition that the call stands in */
} fc_call;

typedef enum fc_role_kind { FC_R_VALUE, FC_R_SKIP, FC_R_AXIS } fc_role_kind;

typedef struct fc_const_entry {
    const fc_item *item;
    uint32_t scope; /* of the file it stands in */
    int state;      /* 0 not yet, 1 being evaluated, 2 done */
    fc_value value;
} fc_const_entry;

typedef struct fc_def {
    const fc_item *item;
    uint32_t scope;
    uint8_t state; /* of the signature: 0 not checked, 1 good, 2 bad */
    bool called;
    const fc_extern *function; /* of an EXTERN; NULL after a mistake */
} fc_def;

/* The names of one file; those it imports by `from` are among them. */
typedef struct fc_scope {
    const fc_ast *ast;
    fc_namemap defs, consts; /* numbers in fc_checker.defs and .consts */
    fc_namemap modules;      /* numbers in fc_checker.scopes */
    bool library;            /* of a definition that comes with fusec; the tree is the checker's */
} fc_scope;

/* Where a node was made. */
typedef struct fc_place {
    const fc_ast *ast;
    fc_range at;
} fc_place;

/* What a random draw depends on. */
typedef struct fc_seen_draw {
    fc_list shape;
    fc_node seed, stream;
} fc_seen_draw;

typedef struct fc_checker {
    const fc_lang_request *rq;
    const fc_alloc *alloc;
    fc_arena arena;
    fc_graph *g;
    fc_diags *ds;
    fc_lang_program *out;
    FC_VEC(fc_call *) calls;
    fc_call *f;         /* the innermost */
    const fc_expr *cur; /* the expression being evaluated */
    FC_VEC(fc_place) places;
    FC_VEC(fc_seen_draw) draws;
    FC_VEC(fc_scope) scopes; /* of the program, 0, and of what it imports */
    FC_VEC(fc_const_entry) consts;
    FC_VEC(fc_def) defs;
    fc_namemap library; /* numbers in `defs`: of definitions that come with fusec */
    FC_VEC(fc_lang_param) params;
    bool *input_used; /* of a snippet's inputs */
    uint64_t steps;
    bool stop; /* a limit, or out of memory */
} fc_checker;

/* ---- check.c: frames, statements, names ---- */
bool fc_namemap_put(const fc_alloc *a, fc_namemap *m, const char *name, uint32_t value);
bool fc_namemap_get(const fc_namemap *m, const char *name, uint32_t *value);
void fc_namemap_free(const fc_alloc *a, fc_namemap *m);
/* Evaluates until no frame is left. */
void fc_c_run(fc_checker *c);
/* The frame of a const has its value: converts it to the declared type and ends the frame. */
void fc_c_finish_const(fc_checker *c, fc_call *f, fc_value v);
/* NULL after it has reported that there is no memory, or that calls are nested too deep. */
fc_call *fc_c_push(fc_checker *c, uint32_t scope, const fc_item *def);
/* The frame evaluates this expression next. */
void fc_c_begin(fc_checker *c, fc_call *f, const fc_expr *root);
/* Takes the innermost frame away without a result. */
void fc_c_drop(fc_checker *c);
void fc_c_bind(fc_checker *c, fc_binding b);
fc_binding *fc_c_find(fc_call *f, const char *name);
void *fc_c_alloc(fc_checker *c, size_t size);
void fc_c_oom(fc_checker *c);
void fc_c_str_free(fc_checker *c, fc_str *s); /* a text that is whole, or else out of memory */

/* ---- check_scope.c: the names of files ---- */
/* Reads the definitions, consts and imports of the program and of all files that it imports. */
void fc_c_read_scopes(fc_checker *c);
void fc_c_free_scopes(fc_checker *c);
/* By the name that a file has for it, or of the library if that is no builtin's; NULL: there is none.
 */
fc_def *fc_c_def(const fc_checker *c, uint32_t scope, const char *name);
bool fc_c_const(const fc_checker *c, uint32_t scope, const char *name, uint32_t *out);
/* `nn` of nn.f, when it is a module in the frame's file and no value. */
bool fc_c_module(const fc_checker *c, const fc_call *f, const fc_expr *member, uint32_t *scope);
/* What is called: a name, or one of a module. NULL: no definition. */
fc_def *fc_c_callee(const fc_checker *c, const fc_call *f, const fc_expr *callee);
/* A const that the file defines itself: nothing is seen through it. */
bool fc_c_module_const(const fc_checker *c, uint32_t scope, const char *name, uint32_t *out);
/* A member of a module that is no function, or no value. */
void fc_c_no_member(fc_checker *c, uint32_t scope, const fc_expr *member, bool called);
/* Reports a value that is called like a module. */
void fc_c_value_name(fc_checker *c, const fc_call *f, const char *name, fc_range at);
void fc_c_suggest_names(fc_suggest *s, const fc_namemap *m);

/* ---- check_value.c ---- */
static inline bool fc_v_weak(const fc_value *v) {
    return v->kind == FC_V_NODE ? v->weak != FC_W_STRONG
                                : v->kind >= FC_V_INT && v->kind <= FC_V_INDEX;
}
static inline bool fc_v_element(const fc_value *v) {
    return v->kind == FC_V_INDEX || (v->kind == FC_V_NODE && v->element);
}
/* A list, or a tuple that is not several results. */
static inline bool fc_v_is_list(const fc_value *v) {
    return v->kind == FC_V_LIST || (v->kind == FC_V_TUPLE && !v->names);
}
fc_value fc_v_node(fc_node n);                    /* FC_NONODE gives FC_UNKNOWN */
fc_value fc_v_like(fc_node n, const fc_value *v); /* an element if `v` is one */
fc_value fc_v_element_if(fc_node n, bool element);
fc_value fc_v_int(fc_wide i);
fc_value fc_v_float(double f);
fc_value fc_v_bool(bool b);
fc_value fc_v_dim(fc_checker *c, fc_dim d);
fc_value fc_v_number(const fc_lang_number *n);
bool fc_v_real(const fc_value *v, double *out); /* a constant number; false: it is none */
fc_weakness fc_v_weakness(const fc_value *v);
/* A weak node, or the constant it folded to. */
fc_value fc_v_weak_node(fc_checker *c, fc_node n);
/* A value that can be an operand; reports lists, strings and several results. */
bool fc_c_operand(fc_checker *c, const fc_expr *e, const fc_value *v);
/* The node of a value in dtype `t`; weak values convert, strong ones are cast. */
fc_node fc_c_node(fc_checker *c, const fc_expr *e, const fc_value *v, fusec_dtype t);
/* The node of a value; a weak one gets the dtype that it must have. */
fc_node fc_c_strong(fc_checker *c, const fc_expr *e, const fc_value *v);
fusec_dtype fc_c_default_dtype(const fc_checker *c, const fc_value *v);
/* The dtype that operands combine to; `weak` and i64, f64 or bool if all are weak. False after a
 * report at `op_at`. */
/* What numbers without a dtype are computed in. */
fusec_dtype fc_c_weak_dtype(fc_weakness w);
bool fc_c_combine(fc_checker *c, fc_range op_at, uint32_t n, const fc_expr *const *e,
                  const fc_value *v, fusec_dtype *t, bool *weak);
/* A weak integer as a size. */
bool fc_c_size(fc_checker *c, const fc_value *v, fc_dim *out);
fusec_dtype fc_v_dtype(const fc_checker *c, const fc_value *v);
uint32_t fc_v_rank(const fc_checker *c, const fc_value *v);
uint32_t fc_v_shape(const fc_checker *c, const fc_value *v, fc_dim *shape);

/* ---- check_msg.c ---- */
/* NULL if this place was reported with this status before. */
fc_diag *fc_c_error(fc_checker *c, fusec_status s, fc_range at, const char *fmt, ...)
    FC_PRINTF(4, 5);
fc_diag *fc_c_error_in(fc_checker *c, const fc_ast *ast, fusec_status s, fc_range at,
                       const char *fmt, ...) FC_PRINTF(5, 6);
/* The expression being evaluated, or what is nearest in the source of the innermost frame. */
fc_range fc_c_here(const fc_checker *c);
/* Text that lives as long as the checker. */
const char *fc_c_text(fc_checker *c, const char *fmt, ...) FC_PRINTF(2, 3);
const char *fc_c_quote(fc_checker *c, fc_range at);
const char *fc_c_quote_in(fc_checker *c, const fc_ast *ast, fc_range at);
const char *fc_c_quote_all(fc_checker *c, const fc_ast *ast, fc_range at); /* not cut */
const char *fc_c_type_text(fc_checker *c, fusec_dtype t, uint32_t rank, const fc_dim *shape);
const char *fc_c_value_type(fc_checker *c, const fc_value *v);
const char *fc_c_dim_text(fc_checker *c, fc_dim d);
const char *fc_c_wide_text(fc_checker *c, fc_wide i);
/* "x: f32[n]    where it came from", unless the operand is a literal. */
void fc_c_fact(fc_checker *c, fc_diag *d, const fc_expr *e, const fc_value *v);
void fc_c_not_yet(fc_checker *c, const fc_ast *ast, fc_range at, const char *what);
/* Passes a node on; reports what the builders found wrong. */
fc_node fc_c_built(fc_checker *c, fc_node n);
/* The same for a call that gives no node; true if all is well. */
bool fc_c_fine(fc_checker *c);
void fc_c_bad_member(fc_checker *c, const fc_expr *member);
void fc_c_unknown_function(fc_checker *c, const fc_expr *name);
void fc_c_unknown_name(fc_checker *c, const fc_expr *name);

/* ---- check_expr.c ---- */
void fc_c_mark_roles(fc_checker *c, fc_call *f);
/* The value of a const; false: it has to be evaluated first, and a frame was pushed for it. */
bool fc_c_const_value(fc_checker *c, const fc_expr *e, uint32_t i, fc_value *out);
/* Whether a name stands for a value that is there; pi and its like, which can't be subscripts, do
 * not count. */
bool fc_c_names_value(fc_checker *c, fc_call *f, const fc_expr *e);
/* Evaluates one node; false if a call was pushed and the node must wait for it. */
bool fc_c_step(fc_checker *c, fc_call *f, const fc_expr *e);
static inline fc_value *fc_c_val(fc_call *f, const fc_expr *e) {
    return &f->vals[e->id - f->root->first];
}
/* The operands of an elementwise row on values, of one dtype and of shapes that broadcast. */
typedef struct fc_row_operands {
    bool good, weak;        /* good: all nodes are there; weak: of untyped numbers */
    bool element;           /* of an index definition */
    const fc_value *chosen; /* a choice between numbers that is made already */
    fc_node node[3];
} fc_row_operands;
fc_row_operands fc_c_row_operands(fc_checker *c, fc_op op, const fc_expr *at, fc_range op_at,
                                  uint32_t n, const fc_expr *const *parts, const fc_value *v);
/* An elementwise row on values: combines, converts, checks the shapes. `parts` are the operands'
 * expressions, `op_at` what to point at. */
fc_value fc_c_row(fc_checker *c, fc_op op, const fc_expr *at, fc_range op_at, uint32_t n,
                  const fc_expr *const *parts, const fc_value *v);
/* Whether two sizes are the same: 1 yes, 0 no, -1 not known before the call. */
int fc_c_same_dim(const fc_checker *c, fc_dim a, fc_dim b);

/* ---- check_weak.c ---- */
fc_value fc_c_weak_unary(fc_checker *c, const fc_expr *e, fc_oper op, const fc_value *a);
fc_value fc_c_weak_binary(fc_checker *c, const fc_expr *e, fc_oper op, const fc_value *a,
                          const fc_value *b);
/* Comparison of two weak values. */
fc_value fc_c_weak_compare(fc_checker *c, const fc_expr *e, fc_oper op, const fc_value *a,
                           const fc_value *b);
fc_op fc_c_row_of(fc_oper op);

/* ---- check_call.c ---- */
bool fc_c_call(fc_checker *c, fc_call *f, const fc_expr *e); /* as fc_c_step */
bool fc_c_is_builtin(const char *name);
/* Hands every callable builtin to `s`. */
void fc_c_suggest_builtins(fc_checker *c, fc_suggest *s);
/* A dtype, or a dtype variable bound here. */
bool fc_c_dtype_name(const fc_call *f, const char *name, size_t len, fusec_dtype *t);
/* True or false, written; absent is false. False after a report. */
bool fc_c_flag_arg(fc_checker *c, fc_call *f, const fc_expr *e, bool *out);

/* ---- check_index.c: index definitions, reductions over indices ---- */
/* Finds the indices of the expression that a frame begins with. */
void fc_c_find_indices(fc_checker *c, fc_call *f);
/* name[k](...) with the name of a reduction. */
bool fc_c_is_index_reduction(const fc_checker *c, const fc_call *f, const fc_expr *call);
fc_value fc_c_index_reduction(fc_checker *c, fc_call *f, const fc_expr *e);
/* The index of that name that is known at a node; NULL: there is none. */
const fc_binder *fc_c_binder(const fc_call *f, const fc_expr *name);
fc_value fc_c_index_value(fc_checker *c, fc_call *f, const fc_binder *b);
/* Ranges that are data (check_ragged.c). Whether that of a reduction is; the value of such an
 * index; the reduction over it of an element, whose axes before it are `from`. */
bool fc_c_is_ragged(fc_checker *c, fc_call *f, const fc_binder *b);
bool fc_c_is_ragged_index(const fc_call *f, const fc_expr *index, fc_dim size);
fc_value fc_c_ragged_value(fc_checker *c, fc_call *f, const fc_binder *b);
fc_value fc_c_ragged_reduction(fc_checker *c, fc_call *f, const fc_expr *e, fc_op op,
                               const fc_binder *b);
/* Between the passes: ranges from accesses. False after a report. */
bool fc_c_find_ranges(fc_checker *c, fc_call *f);
/* The statement NAME[...] = value: its next range, then its value; and what it binds. */
void fc_c_next_of_define(fc_checker *c, fc_call *f);
void fc_c_take_range(fc_checker *c, fc_call *f, const fc_expr *range);
fc_value fc_c_defined_array(fc_checker *c, fc_call *f, const fc_expr *e, const fc_value *v);
/* A name that is nothing else and stands alone in a subscript: true after a report. */
bool fc_c_free_index(fc_checker *c, fc_call *f, const fc_expr *name);
/* How many axes the definition has at a node. */
uint32_t fc_c_axes_at(const fc_call *f, const fc_expr *e);

/* ---- check_loop.c ---- */
/* The statement is a loop: its bounds are evaluated first. */
void fc_c_begin_loop(fc_checker *c, fc_call *f);
/* A bound or the condition of the innermost loop has its value. */
void fc_c_take_loop(fc_checker *c, fc_call *f, const fc_value *v);
/* The body has ended: on to the next round, or to what follows. */
void fc_c_end_round(fc_checker *c, fc_call *f);
void fc_c_free_loops(fc_checker *c, fc_call *f);
/* Takes the place of what the name stands for, if anything. */
void fc_c_rebind(fc_checker *c, const char *name, fc_range at, fc_value v);
/* The index of a read inside of loops: 0 for elements that have stopped. */
fc_node fc_c_going_on(fc_checker *c, const fc_call *f, fc_node index);
/* A bound of a loop as a node of i64; FC_NONODE after a report. */
fc_node fc_c_loop_bound(fc_checker *c, const fc_expr *e, const fc_value *v);
/* Whether a carried value came out with the type it had; reports if not. */
bool fc_c_same_carried(fc_checker *c, const fc_carried *k, const fc_value *v);
void fc_c_end_loop(fc_checker *c, fc_call *f, bool known);
void fc_c_next_round(fc_checker *c, fc_call *f);

/* ---- check_launch.c: loops whose body stands in the graph once ---- */
/* The names of the body that are carried become holes, and so does the counter. */
void fc_c_launch(fc_checker *c, fc_call *f, fc_loop *l);
/* Whether a value can be the condition of a loop. */
bool fc_c_is_condition(fc_checker *c, const fc_expr *e, const fc_value *v);
void fc_c_launch_condition(fc_checker *c, fc_call *f, fc_loop *l, const fc_value *v);
void fc_c_end_launch(fc_checker *c, fc_call *f, fc_loop *l);
/* After the first round: whether the body had better stand once. */
bool fc_c_wants_launch(fc_checker *c, fc_loop *l);
/* From the first round again, as one or the other. */
void fc_c_try_launch(fc_checker *c, fc_call *f, fc_loop *l, bool launch);
/* name[k] = value with the counter of the innermost loop. */
bool fc_c_collects(const fc_call *f, const fc_stmt *s);
void fc_c_collect(fc_checker *c, fc_call *f, fc_value v);

/* ---- check_element.c: elements as operands ---- */
/* The node of an index, i64. */
fc_node fc_c_index_node(fc_checker *c, const fc_value *v);
/* Gives nodes of elements equally many axes; true if one is an element. */
bool fc_c_line_up(fc_checker *c, uint32_t n, const fc_value *v, fc_node *node);
fc_node fc_c_with_axes(fc_checker *c, fc_node n, uint32_t rank);
/* False after a report that an array stands beside elements. */
bool fc_c_no_arrays(fc_checker *c, uint32_t n, const fc_expr *const *e, const fc_value *v);
/* False after a report that the call takes arrays and one of the arguments is an element. */
bool fc_c_no_elements(fc_checker *c, fc_call *f, const fc_expr *call);
/* a + b, a - b, a * b, -a of indices as an index again; UNKNOWN: it is none. */
fc_value fc_c_index_arith(fc_checker *c, fc_oper op, const fc_value *a, const fc_value *b);

/* ---- check_access.c ---- */
/* array[i, j]: one element for each of the definition. */
fc_value fc_c_access(fc_checker *c, fc_call *f, const fc_expr *e);
/* Reports that an access has not one index for each axis. */
void fc_c_bad_count(fc_checker *c, const fc_expr *access, const fc_value *v);
/* "t[idx]", "axis 0 of t", ... for a check of an index. */
fc_node fc_c_checked(fc_checker *c, fc_call *f, const fc_expr *access, const fc_expr *index,
                     uint32_t axis, fc_node n, fc_dim size);
/* The same for an axis that is named otherwise: "axis 0 of t", "the result". */
fc_node fc_c_checked_for(fc_checker *c, fc_call *f, const fc_expr *access, const fc_expr *index,
                         const char *axis, fc_node n, fc_dim size);
/* An index that an edge mode brings inside [0, size). */
fc_node fc_c_folded(fc_checker *c, fc_edge edge, fc_node n, fc_dim size);

/* ---- check_join.c ---- */
bool fc_c_join_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out);
bool fc_c_is_join_name(const char *name);
extern const char *const fc_c_join_names[];
/* An array of integers; the one axis of a call, or `none` if that is not negative; a size; what
 * becomes of an index outside, which `none` names if it is left out. False after a report. */
bool fc_c_index_arg(fc_checker *c, fc_call *f, const fc_expr *e, fc_value *out);
bool fc_c_axis_arg(fc_checker *c, fc_call *f, const fc_expr *call, const fc_expr *array,
                   const fc_value *v, const fc_expr *e, int none, uint32_t *out);
bool fc_c_size_arg(fc_checker *c, fc_call *f, const fc_expr *e, fc_dim *out);
typedef enum fc_bounds {
    FC_BOUNDS_CHECK,
    FC_BOUNDS_CLAMP,
    FC_BOUNDS_NONE,
    FC_BOUNDS_INSIDE,
    FC_BOUNDS_BAD
} fc_bounds;
fc_bounds fc_c_bounds_arg(fc_checker *c, const fc_expr *e, const char *none);

/* ---- check_scatter.c ---- */
extern const char *const fc_c_scatter_names[];
bool fc_c_is_scatter_name(const char *name);
bool fc_c_scatter_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name,
                       fc_value *out);
/* NAME[indices] += value */
fc_value fc_c_put(fc_checker *c, fc_call *f, const fc_expr *e);

/* ---- check_args.c ---- */
/* Named and plain arguments of a builtin; NULL for what is not there. */
typedef struct fc_arg_spec {
    const char *const *names; /* of the positions; NULL where it has no name of its own */
    uint32_t positions, least;
    const char *const *keywords; /* NULL-terminated */
} fc_arg_spec;
bool fc_c_args(fc_checker *c, const fc_expr *call, const fc_arg_spec *spec,
               const fc_expr **positions, const fc_expr **keywords);
void fc_c_count_error(fc_checker *c, const fc_expr *call, uint32_t least, uint32_t most,
                      uint32_t got);
/* Reports an argument that was there before; false. */
bool fc_c_given_twice(fc_checker *c, const fc_expr *a, const char *name);
/* axis=: a list of axes of `v`; absent gives all. False after a report. */
bool fc_c_axes(fc_checker *c, fc_call *f, const fc_expr *array, const fc_value *v,
               const fc_expr *axis, int64_t *axes, uint32_t *count);
bool fc_c_dtype_arg(fc_checker *c, const fc_expr *e, fusec_dtype *t);
/* The array of an argument, with its axes. False after a report. */
bool fc_c_array_arg(fc_checker *c, fc_call *f, const fc_expr *e, fc_value *out);

/* ---- check_dot.c ---- */
/* a @ b; `dtype` is what was asked for, or NULL. */
fc_value fc_c_matmul(fc_checker *c, fc_range at, const fc_expr *const e[2], const fc_value v[2],
                     const fc_expr *dtype);
bool fc_c_dot_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out);
bool fc_c_is_dot_name(const char *name);
void fc_c_suggest_dots(fc_suggest *s);
/* The sum of an element that is written as a product over the axes [from, from + n), as a
 * contraction; FC_NONODE: it is none, or something was found wrong. */
fc_node fc_c_sum_of_product(fc_checker *c, fc_call *f, const fc_expr *e, uint32_t from, uint32_t n);

/* ---- check_fft.c */
bool fc_c_is_fft_name(const char *name);
void fc_c_suggest_ffts(fc_suggest *s);
bool fc_c_fft_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out);

/* ---- check_scan.c; the names are words of the checker ---- */
bool fc_c_is_scan_name(const char *name);
void fc_c_suggest_scans(fc_checker *c, fc_suggest *s);
bool fc_c_scan_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out);

/* The one axis of a scan: axis=, or the only one of the array. */
bool fc_c_the_axis(fc_checker *c, fc_call *f, const fc_expr *e, const fc_expr *array,
                   const fc_value *x, const fc_expr *given, int64_t *axis);

/* ---- check_fold.c ---- */
extern const char *const fc_c_fold_names[];
bool fc_c_is_fold_name(const char *name);
/* Whether argument `n` of a call of this builtin is the name of a definition, not a value. */
bool fc_c_names_definition(const char *name, const fc_expr *a, uint32_t n);
bool fc_c_fold_call(fc_checker *c, fc_call *f, const fc_expr *e,
                    const char *name); /* as fc_c_call */
void fc_c_end_fold(fc_checker *c, fc_call *f, const fc_value *v);

/* ---- check_user.c ---- */
/* Whether a definition may be called here; false after a report. */
bool fc_c_may_call(fc_checker *c, const fc_expr *e, fc_def *def);
/* The call of a definition: true after a report, false when a frame was pushed for it. */
bool fc_c_user_call(fc_checker *c, fc_call *f, const fc_expr *e, fc_def *def);

/* ---- check_extern.c ---- */
/* Finds the functions of all extern declarations; reports those that can't be. */
void fc_c_read_externs(fc_checker *c);
fc_value fc_c_extern_call(fc_checker *c, fc_call *f, const fc_expr *e, const fc_def *def);

/* ---- check_subscript.c ---- */
/* -1, written: it counts from the end of an axis. */
bool fc_c_literal_negative(const fc_expr *e);
fc_value fc_c_subscript(fc_checker *c, fc_call *f, const fc_expr *e);

/* ---- check_shape.c ---- */
/* Conditions that sizes are not negative, where that is not known. */
bool fc_c_require_sizes(fc_checker *c, uint32_t rank, const fc_dim *shape);
/* Functions on shapes and makers of arrays; false: no such function. */
bool fc_c_shape_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out);
fc_value fc_c_transpose2(fc_checker *c, fc_call *f, const fc_expr *e); /* x.T */
bool fc_c_shape_arg(fc_checker *c, fc_call *f, const fc_expr *e, uint32_t *rank, fc_dim *shape,
                    int *open_axis);

/* ---- check_composite.c ---- */
extern const char *const fc_c_array_names[];
bool fc_c_is_composite_name(const char *name);
bool fc_c_composite_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name,
                         fc_value *out);

/* ---- check_random.c ---- */
extern const char *const fc_c_random_names[];
bool fc_c_is_random_name(const char *name);
bool fc_c_random_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out);

/* ---- check_sort.c ---- */
extern const char *const fc_c_sort_names[];
bool fc_c_is_sort_name(const char *name);
bool fc_c_sort_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out);

/* ---- check_make.c ---- */
bool fc_c_make_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name, fc_value *out);
bool fc_c_is_shape_name(const char *name);
bool fc_c_is_make_name(const char *name);
extern const char *const fc_c_shape_names[];
extern const char *const fc_c_make_names[];

/* ---- check_gradient.c ---- */
enum { FC_MAX_DERIVED = 64 }; /* arguments of grad() and its like */
bool fc_c_gradient_call(fc_checker *c, fc_call *f, const fc_expr *e, const char *name,
                        fc_value *out);
bool fc_c_is_gradient_name(const char *name);
extern const char *const fc_c_gradient_names[];

/* ---- check_rule.c ---- */
typedef struct fc_own_rule fc_own_rule;
typedef struct fc_folding fc_folding;
bool fc_c_begin_rule(fc_checker *c, fc_call *f, const fc_value *v);
fc_value fc_c_apply_rule(fc_checker *c, fc_call *f, fc_value given);

/* ---- check_sig.c ---- */
typedef enum fc_type_class {
    FC_TC_ARRAY,  /* a dtype */
    FC_TC_LETTER, /* a dtype variable */
    FC_TC_DIM,
    FC_TC_BAD
} fc_type_class;
/* What a type's name stands for. Reports nothing. */
fc_type_class fc_c_type_class(const fc_type *t, fusec_dtype *dtype);
/* Checks names and types of a signature before anything is bound; false after a report. */
bool fc_c_check_signature(fc_checker *c, fc_def *def);
fc_dim_binding *fc_c_dim(fc_call *f, const char *name);
/* A name in a parameter's type that stands for an axis, not for a const. */
bool fc_c_is_binder(const fc_checker *c, uint32_t scope, const fc_expr *e);
/* A size written in a type. FC_DIM_NONE: not known, because of a mistake that was reported. */
fc_dim fc_c_eval_dim(fc_checker *c, fc_call *f, const fc_expr *e);
bool fc_c_declared_shape(fc_checker *c, fc_call *f, const fc_type *t, uint32_t *rank,
                         fc_dim *shape);
bool fc_c_declared_dtype(fc_call *f, const fc_type *t, fusec_dtype *out);

/* ---- check_bind.c ---- */
/* Binds the arguments of a call; false after a report. */
bool fc_c_bind_call(fc_checker *c, fc_call *f);
/* Weak values and defaults get the declared dtype, and a scalar default of an array its shape. */
bool fc_c_convert_argument(fc_checker *c, fc_call *f, const fc_param *p, uint32_t i);
/* The parameters become names of the frame. */
void fc_c_bind_names(fc_checker *c, fc_call *f);

/* ---- check_mode.c ---- */
/* FUSEC_MODE_*: the attributes of a definition, or what was asked for. */
unsigned fc_c_float_mode(fc_checker *c, const fc_item *def);
/* Whether a definition may be put into the program that is compiled; false after a report. */
bool fc_c_mode_fits(fc_checker *c, const fc_expr *call, const fc_def *def);

/* ---- check_top.c ---- */
/* Makes inputs of the parameters of the definition that is compiled. */
bool fc_c_bind_top(fc_checker *c, fc_call *f);

/* ---- check_result.c ---- */
/* Checks results against the promise and converts weak ones. */
void fc_c_check_results(fc_checker *c, fc_call *f);

/* ---- check_input.c ---- */
/* The facts of the inputs against the signature: names, dtypes, sizes. */
bool fc_c_match_inputs(fc_checker *c, fc_call *f);
const char *fc_c_input_origin(fc_checker *c, uint32_t input);
/* An error about the command line: it has no place in a source. */
fc_diag *fc_c_input_error(fc_checker *c, fusec_status s, const char *text);
/* "net(x: f32[n, k])      mlp.fuse:4:12" */
void fc_c_signature_line(fc_checker *c, const fc_call *f, fc_diag *d);
fc_dim fc_c_input_size(fc_checker *c, const fc_lang_input *in, uint32_t axis); /* undeclared */
bool fc_c_inputs_twice(fc_checker *c); /* true after a report */

/* ---- check_fit.c ---- */
/* Whether input `k` has the dtype of a parameter, and its sizes as far as they are names; then,
 * when all names are known, sizes that are numbers and arithmetic. False after a report. */
bool fc_c_match_dtype(fc_checker *c, fc_call *f, const fc_param *p, uint32_t k);
bool fc_c_match_shape(fc_checker *c, fc_call *f, const fc_param *p, uint32_t k);
bool fc_c_match_exprs(fc_checker *c, fc_call *f, const fc_param *p, uint32_t k);

/* ---- check_snippet.c ---- */
/* Before a snippet is evaluated and after: doubles, and what was not used. */
bool fc_c_snippet_inputs(fc_checker *c);
void fc_c_snippet_unused(fc_checker *c);
/* A free name of a snippet: true if it is an input (then it is bound). */
bool fc_c_snippet_input(fc_checker *c, fc_call *f, const fc_expr *name);
/* n, m, k, l: the length of an axis of the first array that is given. */
bool fc_c_snippet_length(fc_checker *c, const fc_expr *name, fc_value *out);
void fc_c_snippet_missing(fc_checker *c, fc_call *f, const fc_expr *name);

#endif
