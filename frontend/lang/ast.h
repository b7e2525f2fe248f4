/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ast.h - a program or a snippet as a tree.
 *
 * Every node lives in the arena of its fc_ast and knows its range in the source. Names are
 * NUL-terminated. The tree holds what was written: nothing is resolved but the files of imports
 * (modules.h), no builtin and no dtype is known here.
 *
 * Expressions are also numbered: fc_ast.exprs[id] is the node with that id, operands come before
 * what they belong to, and the nodes below `e` are exactly exprs[e->first .. e->id]. So a walk over
 * an expression needs no recursion, however long it is: upwards from first to id to compute values,
 * downwards from id to first to hand information to operands. (A name that is called is a node like
 * any other; the walk downwards meets the call first.) */
#ifndef FUSEC_FRONTEND_LANG_AST_H
#define FUSEC_FRONTEND_LANG_AST_H

#include "frontend/lang/lex.h"

typedef struct fc_name {
    const char *text;
    uint32_t len; /* 0: there is no name */
    fc_range at;
} fc_name;

/* ---- expressions ----------------------------------------------------------------------------- */

typedef enum fc_expr_kind {
    FC_EX_NUMBER,
    FC_EX_STRING,
    FC_EX_BOOL,
    FC_EX_NAME,
    FC_EX_UNARY,     /* op a */
    FC_EX_BINARY,    /* a op b; and, or, bit operators, arithmetic */
    FC_EX_COMPARE,   /* list of two or more operands, links[i] between operand i and i + 1 */
    FC_EX_COND,      /* a ? b : c */
    FC_EX_CALL,      /* a ( list ); elements of the list may have a label */
    FC_EX_SUBSCRIPT, /* a [ list ] */
    FC_EX_MEMBER,    /* a . member */
    FC_EX_TUPLE,     /* ( list ), two or more */
    FC_EX_LIST,      /* [ list ] */
    /* in subscripts and dims only */
    FC_EX_SLICE,    /* a : b : c, each may be NULL */
    FC_EX_ELLIPSIS, /* ... */
    FC_EX_NEWAXIS,  /* None */
    FC_EX_INDEX,    /* index in a .. b */
    FC_EX_HOLE,     /* _ in a type */
    FC_EX_PUT       /* a += b, the whole of a statement: a is a SUBSCRIPT of a name */
} fc_expr_kind;

typedef enum fc_oper {
    FC_OPER_NONE,
    FC_OPER_NEG,
    FC_OPER_PLUS,
    FC_OPER_BIT_NOT,
    FC_OPER_NOT, /* not and ! */
    FC_OPER_OR,
    FC_OPER_AND,
    FC_OPER_LT,
    FC_OPER_LE,
    FC_OPER_GT,
    FC_OPER_GE,
    FC_OPER_EQ,
    FC_OPER_NE,
    FC_OPER_BIT_OR,
    FC_OPER_BIT_XOR,
    FC_OPER_BIT_AND,
    FC_OPER_SHL,
    FC_OPER_SHR,
    FC_OPER_ADD,
    FC_OPER_SUB,
    FC_OPER_MUL,
    FC_OPER_DIV,
    FC_OPER_FLOORDIV,
    FC_OPER_MOD,
    FC_OPER_MATMUL,
    FC_OPER_POW,
    FC_OPER_COUNT
} fc_oper;

/* One comparison of a chain. */
typedef struct fc_link {
    fc_oper op;
    fc_range at;
} fc_link;

typedef struct fc_expr fc_expr;
struct fc_expr {
    uint8_t kind; /* fc_expr_kind */
    uint8_t op;   /* fc_oper of UNARY and BINARY */
    bool parens;  /* stands in parentheses of its own */
    bool truth;   /* BOOL */
    bool real;    /* NUMBER: written with "." or an exponent; `number.f` is its value */
    bool imaginary; /* NUMBER: with an i behind it; `number.f` is its value, `real` is set */
    bool huge;    /* NUMBER: an integer of more than 64 bits; `number.f` is near its value */
    uint32_t id, first;
    uint32_t count; /* length of the list */
    fc_range at;    /* without parentheses of its own */
    fc_range outer; /* with them */
    fc_range op_at; /* the operator; of a call or subscript the brackets, of a member ".name" */
    fc_expr *next;  /* in the list it is in */
    const fc_name *label; /* of a named argument, else NULL */
    union {
        struct {
            fc_expr *a, *b, *c;
        };
        struct {
            fc_expr *callee; /* the same place as `a` */
            fc_expr *list;   /* of CALL, SUBSCRIPT, TUPLE, LIST, COMPARE */
            fc_link *links;  /* of COMPARE, count - 1 of them */
        };
        struct {
            fc_expr *object; /* the same place as `a` */
            const fc_name *member;
        };
        struct {
            fc_expr *lo, *hi; /* the same places as `a` and `b` */
            const fc_name *index;
        };
        struct {
            uint64_t i;
            double f;
            const char *digits; /* as written, without "_" */
        } number;
        struct {
            const char *text; /* NAME; STRING after its escapes */
            uint32_t len;
        };
    };
};

/* ---- statements ------------------------------------------------------------------------------ */

typedef enum fc_stmt_kind {
    FC_ST_BIND,   /* targets = value */
    FC_ST_DEFINE, /* targets[indices] = value, one target */
    FC_ST_LOOP,   /* for targets in lo..hi while cond { body } */
    FC_ST_RETURN, /* return values */
    FC_ST_RESULT  /* values, at the end of a snippet */
} fc_stmt_kind;

typedef struct fc_stmt fc_stmt;
struct fc_stmt {
    uint8_t kind; /* fc_stmt_kind */
    fc_stmt *next;
    fc_range at;   /* a loop: up to its "{" */
    fc_range word; /* "for" or "return" */
    fc_name *targets;
    uint32_t target_count;
    uint32_t value_count; /* of `value`, a list for RETURN and RESULT */
    fc_expr *value;       /* bound value, first result */
    fc_expr *indices;     /* DEFINE: list of NAME and INDEX */
    fc_expr *lo, *hi;     /* LOOP */
    fc_expr *cond;        /* LOOP, may be NULL */
    fc_stmt *body;        /* LOOP, may be NULL */
};

/* ---- definitions ----------------------------------------------------------------------------- */

typedef struct fc_type {
    fc_range at;
    fc_name name;
    bool brackets; /* f32[] is not legal, f32 is a scalar */
    uint32_t rank; /* number of dims, "..." counts as one */
    fc_expr *dims; /* list; ELLIPSIS, HOLE, or any arithmetic expression */
} fc_type;

typedef struct fc_param fc_param;
struct fc_param {
    fc_param *next;
    fc_range at;
    fc_name name;
    fc_type *type;     /* NULL: anything */
    fc_expr *fallback; /* default value, may be NULL */
};

typedef struct fc_result fc_result;
struct fc_result {
    fc_result *next;
    fc_range at;
    fc_name name; /* len 0: one unnamed result */
    fc_type *type;
};

typedef struct fc_attr fc_attr;
struct fc_attr {
    fc_attr *next;
    fc_range at;
    fc_name name;
    bool parens;
    uint32_t count;
    fc_expr *args; /* list */
};

typedef enum fc_item_kind {
    FC_IT_IMPORT,
    FC_IT_FROM,
    FC_IT_CONST,
    FC_IT_DEF,
    FC_IT_EXTERN /* the head of a DEF alone, without attributes: a function from outside */
} fc_item_kind;

typedef struct fc_item fc_item;
struct fc_item {
    uint8_t kind; /* fc_item_kind */
    bool exported;
    bool block; /* DEF: the body is { } and not = expr */
    fc_item *next;
    fc_range at;  /* from the first attribute or word to the end of the body */
    fc_name name; /* DEF, CONST; IMPORT: after "as", len 0 if there is none */

    const char *path; /* IMPORT and FROM */
    fc_range path_at;
    fc_name *names; /* FROM */
    uint32_t name_count;
    const struct fc_ast *module; /* the file, once modules.h has read it */

    fc_type *type;  /* CONST, may be NULL */
    fc_expr *value; /* CONST; body of DEF if it is no block */

    fc_attr *attrs; /* DEF, from here on */
    fc_param *params;
    fc_result *results; /* NULL: not given */
    uint32_t param_count, result_count;
    fc_range signature; /* NAME ( params ) */
    fc_range full;      /* "def" NAME ( params ) "->" results */
    fc_range end_brace; /* "}" of a block */
    fc_range doc;       /* the comment lines directly above, empty if there are none */
    fc_stmt *body;      /* of a block, may be NULL */
};

/* ---- the whole ------------------------------------------------------------------------------- */

typedef struct fc_ast {
    const fc_source *src; /* must outlive the tree */
    fc_arena arena;
    fc_tokens tokens;
    FC_VEC(fc_expr *) exprs;
    fc_item *items; /* of a program */
    fc_stmt *stmts; /* of a snippet; the last one is a RESULT if there is a result */
} fc_ast;

void fc_ast_free(fc_ast *ast);
const char *fc_oper_text(fc_oper op);
/* The text of an expression for a message: blanks and newlines become one space. */
void fc_ast_quote(const fc_ast *ast, fc_range at, fc_str *out);

#endif
