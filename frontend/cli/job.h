/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* job.h - a program from the command line on its way to results.
 *
 *     fc_job_open     parses the texts, reads the headers of the inputs, makes the graph
 *     fc_job_device   the device, with the notice when the automatic choice fell back
 *     fc_job_program  the plan for it
 *     fc_job_data     the data of the inputs
 *     fc_job_results  memory for the results
 *     fc_job_close    always, also after a failure
 *
 * Mistakes in the program go to cli->ds, everything else into the fc_error. */
#ifndef FUSEC_FRONTEND_CLI_JOB_H
#define FUSEC_FRONTEND_CLI_JOB_H

#include "frontend/capi/program.h"
#include "frontend/cli/command.h"
#include "frontend/cli/input.h"
#include "frontend/lang/compile.h"
#include "frontend/lang/parse.h"

typedef struct fc_job_request {
    const char *file; /* FILE[:DEF], or the definitions for `expr`; may be NULL with it */
    const char *expr; /* text of -e */
    const char *def;  /* wins over :DEF */
    bool complete;    /* it will be run: all inputs and sizes must be known */
    bool no_inputs;   /* leave the inputs of the command line alone */
    bool check;       /* nothing will be run: fc_lang_request.check */
    bool cut;         /* it will be computed in pieces: the first axis of the largest file gets a
                         name for its size where it has none */
    const fc_lang_dtype *dtypes; /* of dtype variables that no input decides */
    size_t dtype_count;
} fc_job_request;

typedef struct fc_job {
    fc_cli *cli;
    const fc_alloc *alloc;
    fc_arena arena;
    const char *path, *def; /* FILE and DEF; NULL when not given */
    fc_ast program, snippet;
    fc_modules modules;
    bool has_program, has_snippet;
    fc_cli_input *inputs; /* as they stand on the command line */
    size_t input_count;
    fc_lang_input *given; /* those the program sees */
    uint32_t *given_from; /* and which of `inputs` each is */
    size_t given_count;
    fc_graph graph;
    fc_lang_program lang;
    bool has_graph;
    /* the arguments of a call, one for each input of the graph */
    bool sized; /* all sizes are known */
    uint32_t nin, ndims, nout;
    fc_tensor *in;
    fc_dim_value *dims;
    int64_t *values; /* of the sizes of the graph */
    bool *known;     /* and which of them are known */
    fc_tensor *out;
    size_t scratch; /* bytes of what is stored between kernels */
    /* computed in pieces (split.h): inputs that are read a part at a time, [nin], and the files of
     * results that have their data already, [nout]; NULL: none */
    bool *streamed;
    fc_outfile **written;
    FC_VEC(void *) blocks;
    fusec_context *api; /* NULL: not yet */
    fc_context *ctx;    /* of it */
    fc_device *device;  /* that the results are for */
    bool noticed;       /* the note that the choice fell back has been given */
    bool noticed_cache; /* and that the cache can't be used */
} fc_job;

fusec_status fc_job_open(fc_job *s, fc_cli *c, const fc_job_request *rq, fc_error *e);
/* The request that the options make. */
fc_job_request fc_job_words(const fc_cli *c, bool complete);
void fc_job_close(fc_job *s);

/* The dtype variables of a signature, as a bit set; of none for NULL. */
uint32_t fc_job_letters(const fc_item *def);
/* All dtype variables of a program as `t`, for a request. */
void fc_job_all_letters(fc_lang_dtype list[26], fusec_dtype t);

const char *fc_job_name(const fc_job *s); /* of the definition, "expr" for a snippet */
/* "softmax(x: f32[n, m]) -> f32[n, m]"; with the sizes in place of the names where inputs
 * say them. */
void fc_job_title(const fc_job *s, fc_str *out);
/* The type of a value of the graph, in the same way: "f32[5, m]". */
void fc_job_type(const fc_job *s, fc_node n, fc_str *out);
/* What the graph's input is in the program; NULL: it is none of its parameters. */
const fc_lang_param *fc_job_param(const fc_job *s, uint32_t input);

fusec_status fc_job_context(fc_job *s, fc_error *e);
/* `name` NULL: --device, FUSEC_DEVICE or auto. */
fusec_status fc_job_device(fc_job *s, const char *name, fc_device **out, fc_error *e);
fusec_status fc_job_program(fc_job *s, fc_device *d, bool unfused, fusec_program **out,
                            fc_error *e);
/* The arguments of a call as the C functions take them: as many as the program has inputs. */
fusec_status fc_job_inputs(fc_job *s, const fusec_program *p, fusec_tensor **in, fc_error *e);
fusec_status fc_job_outputs(fc_job *s, fusec_tensor **out, fc_error *e);
/* The failure of a C function. */
fusec_status fc_job_failed(fusec_status s, fc_error *e);

/* ---- sizes (job_sizes.c) ---- */

/* Shapes of all arguments; part of fc_job_open. */
fusec_status fc_job_sizes(fc_job *s, bool complete, fc_error *e);
/* Whether the known sizes decide a condition; the first of those that does not hold. */
bool fc_job_decides(const fc_job *s, const fc_condition *x);
fusec_status fc_job_conditions(const fc_job *s, fc_error *e);
/* --static NAME=SIZE; false: not given. */
bool fc_job_static(const fc_job *s, const char *name, int64_t *out);
/* Gives every size that is not known an example, after --static; `note` says which ("n = 4096"). */
fusec_status fc_job_examples(fc_job *s, fc_str *note, fc_error *e);

/* ---- data (job_data.c) ---- */

/* Reads the inputs. Types without data are made up if `fill`, else an error. */
fusec_status fc_job_data(fc_job *s, bool fill, fc_error *e);
/* The shapes of the results. */
fusec_status fc_job_shapes(fc_job *s, fc_program *p, fc_error *e);
/* fc_job_shapes; refuses what the device has no room for; then gets host memory for the results. */
fusec_status fc_job_results(fc_job *s, fc_program *p, fc_error *e);
void *fc_job_memory(fc_job *s, int64_t bytes); /* 64-byte aligned; lives with the job */
fusec_status fc_job_run(fc_job *s, fusec_program *p, double *seconds, fc_error *e);

/* The i-th result, and any tensor, as an array. */
fc_array fc_tensor_array(const fc_tensor *t);

/* Converts `count` elements as a cast of the language does. */
fusec_status fc_convert(const fc_alloc *alloc, fusec_dtype from, const void *src, fusec_dtype to,
                        void *dst, int64_t count, fc_error *e);

#endif
