/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plan_view.h - a plan for people and programs: what explain and bench say about kernels, and the
 * C functions that explain. */
#ifndef FUSEC_FRONTEND_EXPLAIN_PLAN_VIEW_H
#define FUSEC_FRONTEND_EXPLAIN_PLAN_VIEW_H

#include "frontend/explain/words.h"
#include "runtime/program.h"
#include "runtime/strips.h"

/* What is asked about. Without `sized` the arrays are not known, and sizes keep their names. */
typedef struct fc_plan_query {
    const fc_alloc *alloc;
    fc_arena *arena;          /* what a view has lives there */
    const char *name, *title; /* "f", "f(x: f32[n]) -> f32[n]" */
    bool sized;
    uint32_t nin, ndims, nout;
    const fc_tensor *in;
    const fc_dim_value *dims;
    fc_tensor *out; /* for times alone */
} fc_plan_query;

/* One kernel; the numbers are there when the sizes are known. */
typedef struct fc_kernel_view {
    fc_step_report report;
    int64_t elements; /* points of its loops */
    double seconds;   /* measured; 0: not */
    uint32_t joined;  /* kernels that are one launch from this one on (runtime/join.h); 0: none */
    char launch[FC_KERNEL_NAME]; /* its name */
    bool follows;                /* part of the launch of an earlier kernel */
    fc_strips strips; /* of the chain that it is part of (runtime/strips.h); n is 0: of none */
} fc_kernel_view;

typedef struct fc_plan_view {
    const fc_plan_query *s;
    fc_program *p;
    uint32_t count;
    fc_kernel_view *kernels;
    size_t *bytes; /* of each buffer of the plan; NULL without sizes */
    int64_t read, written, flop;
    int64_t traffic; /* every array of every kernel once: what memory has to move at least */
    double seconds;
    double predicted;    /* 0: not known for this device */
    const char *refused; /* why it can't run with these sizes, or NULL */
} fc_plan_view;

/* `load`: also compiles. The view lives as long as query and program. */
fusec_status fc_plan_view_make(const fc_plan_query *s, fc_program *p, bool load, fc_plan_view *out,
                               fc_error *e);
/* Measures each kernel; the arrays have data. */
fusec_status fc_plan_view_time(fc_plan_view *v, fc_error *e);

const char *fc_target_name(const fc_device *d); /* "cuda", "llvm", "interp" */
/* Bytes of what the kernels of a launch pass on, from kernel i on (fc_kernel_view.joined). */
size_t fc_plan_passed(const fc_plan_view *v, uint32_t i);
/* "x", "out", "t0" */
void fc_buffer_name(const fc_plan *p, uint32_t buffer, fc_str *out);
void fc_buffer_type(const fc_plan *p, uint32_t buffer, fc_str *out);

/* "k0", a kernel; "l0", a loop of launches; "s0", a sort. */
const char *fc_step_name(char buf[16], const fc_plan *p, uint32_t i);
/* "map", "loop" */
const char *fc_step_schedule(const fc_step *s);

/* What kernel i reads or writes, as people read it: "128.0 MiB", or "4*n*m" without sizes. */
void fc_plan_bytes(const fc_plan_view *v, uint32_t i, bool written, fc_str *out);
/* Argument `arg`, which the kernel writes, was stored by an earlier kernel. */
bool fc_plan_updates(const fc_kernel *k, uint32_t arg);

/* ---- plan_loop.c: the loops of launches of a plan, with the kernels of their bodies */
void fc_plan_loops_text(const fc_plan *p, uint32_t indent, fc_str *out);
void fc_plan_loop_json(const fc_plan *p, uint32_t step, fc_str *out);
/* Who does its Fourier transforms, if that is not the device itself. */
void fc_plan_transforms_text(const fc_plan_view *v, fc_str *out);
void fc_plan_transform_json(const fc_plan_view *v, uint32_t step, fc_str *out);

/* `unfused` may be NULL. */
void fc_plan_text(const fc_plan_view *v, const fc_plan_view *unfused, fc_str *out);
void fc_plan_plain(const fc_plan_view *v, fc_str *out);
void fc_plan_json(const fc_plan_view *v, const fc_plan_view *unfused, fc_str *out);
void fc_plan_dot(const fc_plan_view *v, fc_str *out);

/* ---- plan_svg.c, plan_html.c: the plan as a picture, and as a page. Neither has a script or
 * refers to anything outside of itself. Both are well-formed XML, whatever the names in them are.
 */

/* Its arrays and kernels, an edge for each read and write. `links`: as part of a page, which has
 * the style in its head, and where a kernel is a link to "#k0". */
extern const char fc_plan_svg_style[];
void fc_plan_svg(const fc_plan_view *v, bool links, fc_str *out);

/* The text of a program; the page shows it with the numbers of its lines. */
typedef struct fc_plan_program {
    const char *name, *text;
    uint32_t place; /* of its line 0, which kernels know their lines by (fc_kernel.places) */
} fc_plan_program;
/* `unfused` may be NULL. The code of kernels is left out where the page would become larger than
 * FC_PAGE_BYTES. */
enum { FC_PAGE_BYTES = 1900000 };
fusec_status fc_plan_html(const fc_plan_view *v, const fc_plan_view *unfused,
                          const fc_plan_program *programs, size_t count, fc_str *out, fc_error *e);

#endif
