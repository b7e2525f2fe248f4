/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* parse_expr.h - what the files of the expression parser share.
 *
 * The rules of expressions are one loop over a stack of frames: an operator or bracket waits there
 * for its right side. In the state OPERAND an operand must come next; in OPERATOR `cur` holds one,
 * and what comes next decides whether it grows or belongs to a frame. A frame of a level is
 * finished by an operator of a lower level.
 *
 *     parse_expr.c      the grammar, operators, and the loop
 *     parse_operand.c   what may stand where an operand must
 *     parse_frame.c     the stack: frames that are finished become nodes
 *     parse_bracket.c   brackets: what they hold, and what was not closed */
#ifndef FUSEC_FRONTEND_LANG_PARSE_EXPR_H
#define FUSEC_FRONTEND_LANG_PARSE_EXPR_H

#include "frontend/lang/parse_impl.h"

typedef enum fc_frame_kind {
    /* operators */
    FC_FR_PREFIX,
    FC_FR_BINARY,
    FC_FR_COMPARE,
    FC_FR_ARM,     /* c ? a : _ */
    FC_FR_IF_ELSE, /* a if c else _, as other languages write it */
    /* cannot be finished by an operator */
    FC_FR_COND, /* c ? _ */
    FC_FR_IF,   /* a if _ */
    /* brackets */
    FC_FR_BASE, /* where the expression began */
    FC_FR_PAREN,
    FC_FR_LIST,
    FC_FR_CALL,
    FC_FR_SUBS
} fc_frame_kind;

/* The state of the loop, and how it ends. */
typedef enum fc_pstep { FC_P_OPERAND, FC_P_OPERATOR, FC_P_DONE, FC_P_FAILED } fc_pstep;

typedef struct fc_machine {
    fc_parser *p;
    fc_expr *cur;
} fc_machine;

/* ---- parse_frame.c ---- */
fc_frame *fc_frame_top(fc_parser *p);
/* NULL after a report: nested too deep, or no memory. `counted`: it is part of the nesting. */
fc_frame *fc_frame_push(fc_parser *p, fc_frame_kind kind, fc_level level, uint32_t tok,
                        bool counted);
void fc_frame_pop(fc_parser *p);
void fc_frame_append(fc_frame *f, fc_expr *e);
bool fc_frame_link(fc_parser *p, fc_frame *f, fc_oper op, uint32_t tok);
/* `a if c else b`, with its third part if that was read. */
void fc_report_if(fc_parser *p, const fc_frame *f, const fc_expr *no);
/* Finishes the operators on top that bind more tightly than `level`, or as tightly if they are
 * `left`. */
bool fc_finish_above(fc_machine *m, fc_level level, bool left);

/* ---- parse_bracket.c ---- */
/* Reads the closing bracket of the frame on top, whose elements are complete. */
fc_pstep fc_close_bracket(fc_machine *m);
/* A slice or index range on top of the stack is complete: makes its node the current operand. */
bool fc_complete_sub(fc_machine *m);
/* What comes next belongs to no frame: a bracket or "?" is not closed. */
fc_pstep fc_unfinished(fc_machine *m);

/* ---- parse_operand.c ---- */
fc_pstep fc_operand(fc_machine *m);
/* `left`: what is called or subscripted, NULL for a bracket of its own. */
fc_pstep fc_open_bracket(fc_machine *m, fc_frame_kind kind, fc_expr *left);

#endif
