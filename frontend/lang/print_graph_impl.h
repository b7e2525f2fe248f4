/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* print_graph_impl.h - what the files that print a graph as a program share. */
#ifndef FUSEC_FRONTEND_LANG_PRINT_GRAPH_IMPL_H
#define FUSEC_FRONTEND_LANG_PRINT_GRAPH_IMPL_H

#include "frontend/lang/check_impl.h"

typedef struct fc_print_extern {
    const struct fc_extern *function;
    const char *name;
} fc_print_extern;

typedef struct fc_printer {
    const fc_graph *g;
    fc_dimtab dims; /* a copy, which has room for the bounds of slices */
    fc_str *out;
    uint32_t *uses;      /* of a node; 0: not needed */
    uint8_t *depth;      /* of what is written in place */
    uint8_t *bound;      /* whether a node belongs to the body of a fold */
    const char **names;  /* of nodes; NULL: written in place */
    uint32_t *place;     /* of a name among all names, in the order of the text */
    const char **syms;   /* of named sizes */
    uint32_t *sym_order; /* place among the parameters, UINT32_MAX: not a parameter yet */
    uint32_t sym_count;
    fc_arena arena;
    fc_namemap taken;
    uint64_t *levels; /* of nodes: the loops whose bodies they are in (ir/loop.h) */
    uint32_t next_value, next_place, next_condition;
    fc_str definitions;              /* that stand behind the program: conditions of loops */
    FC_VEC(fc_print_extern) externs; /* of functions of the user: their names */
    bool oom;
} fc_printer;

/* ---- print_graph.c ---- */
const char *fc_print_new_name(fc_printer *p);
void fc_print_set_name(fc_printer *p, fc_node n, const char *name); /* takes the next place */
void fc_print_node(fc_printer *p, fc_node n);                       /* in place, or its name */
/* Operand k of node n as the text has them: of rows that commute they may have changed places. */
fc_node fc_print_operand(fc_printer *p, fc_node n, int k);
/* The line of node n if it stands in the scope `level`, wants a name and has none. */
void fc_print_statement(fc_printer *p, fc_node n, uint32_t level, uint32_t indent);
/* Whether it would be written in place inside of too many others; after its operands were asked. */
bool fc_print_is_deep(fc_printer *p, fc_node n);
/* The lines of what `need` marks and stands in the scope `level`: 0, or the body of a loop. */
void fc_print_scope(fc_printer *p, const uint8_t *need, uint32_t level, uint32_t indent);

/* ---- print_loop.c ---- */
void fc_print_loop(fc_printer *p, fc_node loop, uint32_t indent);

/* What a node is made of; whether it gets a name (and its depth, operands first); a name that is
 * free, `base` and a number. */
void fc_print_body(fc_printer *p, fc_node n);
bool fc_print_wants_name(fc_printer *p, fc_node n);
const char *fc_print_free_name(fc_printer *p, const char *base, uint32_t *next);

/* ---- print_fold.c ---- */
/* The definitions of all bodies; their names become those of the records that they make. */
void fc_print_bodies(fc_printer *p, const char *program);
/* The statement that has fold n as one of its results, if there was none yet. */
void fc_print_fold(fc_printer *p, fc_node n, uint32_t indent);

/* ---- print_extern.c ---- */
/* Names the functions of the user and declares them behind the program, whose own name may go. */
void fc_print_externs(fc_printer *p, const char **program);
void fc_print_extern_call(fc_printer *p, const fc_ninfo *i);

/* ---- print_size.c ---- */
void fc_print_dim(fc_printer *p, fc_dim d, fc_str *out);
/* `k` times `text`, or `k` alone, behind other terms unless it is the first. */
void fc_print_term(fc_str *out, bool first, int64_t k, const char *text);
void fc_print_shape(fc_printer *p, uint32_t rank, const int64_t *shape); /* "n, m" */
void fc_print_type(fc_printer *p, fc_node n);                            /* "f32[n, m]" */
void fc_print_const(fc_printer *p, fusec_dtype t, uint64_t bits);        /* "f32(0.5)" */

#endif
