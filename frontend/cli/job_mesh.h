/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* job_mesh.h - `fusec run --devices LIST`: a job computed by several devices (runtime/mesh.h).
 *
 * LIST is names of devices with commas between. NAME/K is NAME once more: cpu/0,cpu/1 are two on
 * the CPU, as cuda:0/0,cuda:0/1 on one GPU. */
#ifndef FUSEC_FRONTEND_CLI_JOB_MESH_H
#define FUSEC_FRONTEND_CLI_JOB_MESH_H

#include "frontend/cli/job.h"

/* The name of the first device of the list, NULL without --devices. It lives with the job. */
fusec_status fc_mesh_first(fc_job *s, const char **out, fc_error *e);
enum { FC_MESH_MOST = 64 };

/* The devices of the list, or the job's one without it, each with its program. */
typedef struct fc_mesh_list {
    fc_program *programs[FC_MESH_MOST];
    fusec_program *own[FC_MESH_MOST]; /* those behind the first */
    const char *names[FC_MESH_MOST];
    uint32_t n;
} fc_mesh_list;

/* `first` is the program for the first device, and stays the caller's. fc_mesh_close also after a
 * failure. */
fusec_status fc_mesh_open(fc_job *s, fc_program *first, fc_mesh_list *m, fc_error *e);
void fc_mesh_close(fc_mesh_list *m);

/* Computes the results, whose arrays are there; `p` is the program for the first device. */
fusec_status fc_mesh_job(fc_job *s, fc_program *p, double *seconds, fc_error *e);

#endif
