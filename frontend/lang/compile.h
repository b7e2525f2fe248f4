/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compile.h - from a tree to a graph: names, types, shapes, and the nodes.
 *
 * In: a program (a file, with its imports read: modules.h), or a snippet (the text of -e) with or
 * without a program whose definitions it uses; what the command line says about inputs and consts.
 * Out: the graph, what its inputs and results are, and every mistake in `ds`.
 *
 * A definition whose parameters have types becomes a graph with the sizes named as written. One
 * axis named "..." stands for leading axes as long as no input says how many there are. A parameter
 * without a type, and every input of a snippet, has the sizes of its file as constants.
 *
 *     fc_lang_request rq = {.program = &ast, .def = "softmax", .default_float = FUSEC_F32};
 *     fc_graph_init(&g, alloc, NULL);
 *     fc_lang_program out;
 *     if (fc_lang_compile(&rq, &g, &out, &ds) == FUSEC_OK) ... g, out.params, out.results
 *     fc_lang_program_free(&out);                                            in every case
 */
#ifndef FUSEC_FRONTEND_LANG_COMPILE_H
#define FUSEC_FRONTEND_LANG_COMPILE_H

#include "frontend/lang/ast.h"
#include "ir/external.h"

/* ---- what the command line says -------------------------------------------------------------- */

typedef enum fc_lang_numkind { FC_LANG_BOOL, FC_LANG_INT, FC_LANG_FLOAT } fc_lang_numkind;

/* A weak value. Integers reach from -2^63 to 2^64-1. */
typedef struct fc_lang_number {
    fc_lang_numkind kind;
    bool negative;      /* of an integer */
    uint64_t magnitude; /* of an integer; a bool is 0 or 1 */
    double value;       /* of a float */
} fc_lang_number;

typedef enum fc_lang_input_kind {
    FC_LANG_ARRAY,  /* a file, or made up: dtype and shape count */
    FC_LANG_TYPE,   /* the same without data */
    FC_LANG_SCALAR, /* a weak value */
    FC_LANG_NODE    /* of a snippet: `node` of the graph that is built on */
} fc_lang_input_kind;

#define FC_LANG_ANY_SIZE (-1) /* of an axis whose length is given by a name elsewhere */

typedef struct fc_lang_input {
    const char *name;
    fc_lang_input_kind kind;
    bool has_dtype; /* false: the declared one */
    fusec_dtype dtype;
    uint32_t rank;
    const int64_t *shape;     /* rank entries, each a size or FC_LANG_ANY_SIZE */
    const char *const *names; /* what a size that no declaration names is called, so that it is no
                                 constant; rank entries, NULL: a constant; or NULL for all */
    fc_lang_number number;
    fc_node node;
    bool may_be_unused; /* by a snippet */
    const char *origin; /* as messages show it: "a.npy"; NULL: "NAME=..." */
} fc_lang_input;

/* -D NAME=VALUE */
typedef struct fc_lang_define {
    const char *name;
    fc_lang_number value;
} fc_lang_define;

/* --dtype T=f16 */
typedef struct fc_lang_dtype {
    char letter;
    fusec_dtype dtype;
} fc_lang_dtype;

typedef struct fc_lang_request {
    const fc_ast *program; /* may be NULL with a snippet */
    const fc_ast *snippet; /* NULL: `def` of the program is compiled */
    const char *def;       /* NULL: the only export def, or the only def */
    const fc_lang_input *inputs;
    size_t input_count;
    const fc_lang_define *defines;
    size_t define_count;
    const fc_lang_dtype *dtypes; /* of variables that no input decides */
    size_t dtype_count;
    const fc_extern_source *externs; /* NULL: there are none */
    bool complete; /* to be run: a parameter that is not given takes its default or is missing.
                      Otherwise it is an input all the same, of its declared type. */
    bool check;    /* nothing will be run: a parameter without a type and an input is a value that
                      nothing is known of, all defaults are looked at, and types are described as
                      they are written */
    bool cast;     /* --cast: inputs of other dtypes will be converted */
    fusec_dtype default_float;
    unsigned mode;       /* FUSEC_MODE_*, for definitions without an attribute */
    const char *command; /* "fusec run mlp.fuse x=a.npy", for help lines; may be NULL */
} fc_lang_request;

/* ---- what comes out -------------------------------------------------------------------------- */

#define FC_LANG_NONE UINT32_MAX

/* Places of the graph's nodes (fc_graph.places): lines of the program's own text, and of the
 * snippet's with this bit. What an imported file computes comes from the line that calls it. */

typedef struct fc_lang_param {
    const char *name;
    const char *type; /* as declared, or what the input has: "f32[n, m]", "dim" */
    const fc_source *src;
    fc_range at;    /* the name in the signature, or its first use in a snippet */
    uint32_t input; /* number of the graph's input; FC_LANG_NONE: a dim, or a constant by now */
    uint32_t given; /* number in fc_lang_request.inputs, or FC_LANG_NONE */
    bool has_default;
    bool is_dim; /* a size that no array carries: `sym` of the graph's dims has to be given */
    uint32_t sym;
    fusec_dtype dtype; /* of the graph's input */
    uint32_t rank;
} fc_lang_param;

typedef struct fc_lang_result {
    const char *name;
    const char *type; /* "f32[n, m]" */
} fc_lang_result;

typedef struct fc_lang_program {
    fc_arena arena;
    const char *name;      /* of the definition; NULL for a snippet */
    const char *signature; /* "f(x: f32[n]) -> f32[n]" with the resolved dtypes */
    const fc_item *item;   /* NULL for a snippet */
    unsigned mode;         /* FUSEC_MODE_*: attribute or request */
    fc_lang_param *params; /* in the order of the signature, or of first use */
    uint32_t param_count;
    fc_lang_result *results; /* in the order of the graph's outputs */
    uint32_t result_count;
    const char **called; /* definitions of the program's own file that were called */
    uint32_t called_count;
} fc_lang_program;

/* FUSEC_OK exactly if no error was reported. `g` is initialised by the caller and good for nothing
 * but fc_graph_free after an error. */
fusec_status fc_lang_compile(const fc_lang_request *rq, fc_graph *g, fc_lang_program *out,
                             fc_diags *ds);
void fc_lang_program_free(fc_lang_program *p);

/* The definition that `def` names (NULL: the only export def, else the only def); reports if there
 * is none or a choice. */
const fc_item *fc_lang_find_def(const fc_ast *program, const char *def, fc_diags *ds);
/* Whether every parameter has a type, so that all of it can be checked without inputs. */
bool fc_lang_is_typed(const fc_item *def);
bool fc_lang_was_called(const fc_lang_program *p, const char *def);

/* The graph as a program of one export def: reading it gives a graph with the same hash. */
void fc_lang_print_graph(const fc_graph *g, const char *name, fc_str *out);

#endif
