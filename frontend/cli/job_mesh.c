/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* job_mesh.c - see job_mesh.h. */
#include "frontend/cli/job_mesh.h"

#include <stdio.h>
#include <string.h>

#include "frontend/cli/explain_pieces.h"
#include "runtime/mesh.h"

/* Name `i` of the list, as the runtime knows it (which tells logical devices on a GPU apart) and as
 * it stands there; false: there are no more. */
static bool name_at(const char *list, uint32_t i, fc_arena *arena, const char **device,
                    const char **name) {
    while (i-- > 0) {
        list = strchr(list, ',');
        if (!list) return false;
        list++;
    }
    const size_t n = strcspn(list, ",");
    *name = fc_arena_strdup(arena, list, n);
    const char *slash = strncmp(list, "cuda", 4) ? memchr(list, '/', n) : NULL;
    *device = fc_arena_strdup(arena, list, slash ? (size_t)(slash - list) : n);
    return true;
}

fusec_status fc_mesh_first(fc_job *s, const char **out, fc_error *e) {
    const char *list = s->cli->o.text[FC_FLAG_DEVICES], *name;
    *out = NULL;
    if (!list) return FUSEC_OK;
    name_at(list, 0, &s->arena, out, &name);
    return *out ? FUSEC_OK : fc_oom(e);
}

fusec_status fc_mesh_open(fc_job *s, fc_program *first, fc_mesh_list *m, fc_error *e) {
    const char *list = s->cli->o.text[FC_FLAG_DEVICES], *device, *name;
    *m = (fc_mesh_list){.programs = {first}, .n = list ? 0 : 1};
    while (list && name_at(list, m->n, &s->arena, &device, &name)) {
        fc_device *d;
        if (!device || !name) return fc_oom(e);
        if (!*device) return fc_fail(e, FUSEC_USAGE, "--devices %.200s: a name is empty", list);
        if (m->n == FC_MESH_MOST)
            return fc_fail(e, FUSEC_USAGE, "--devices: at most %d", FC_MESH_MOST);
        m->names[m->n] = name;
        if (m->n) {
            FC_TRY(fc_job_device(s, device, &d, e));
            FC_TRY(fc_job_program(s, d, false, &m->own[m->n], e));
            m->programs[m->n] = m->own[m->n]->p;
        } else {
            m->programs[0] = first;
        }
        m->n++;
    }
    return FUSEC_OK;
}

void fc_mesh_close(fc_mesh_list *m) {
    for (uint32_t i = 1; i < m->n; i++) fusec_program_free(m->own[i]);
    m->n = 0;
}

fusec_status fc_mesh_job(fc_job *s, fc_program *p, double *seconds, fc_error *e) {
    fc_mesh_list m = {.n = 0};
    char dim[64];
    int64_t step;
    fusec_status st = fc_pieces_size(s, dim, &step, e);
    if (!st) st = fc_mesh_open(s, p, &m, e);
    const double start = fc_seconds_now();
    const fc_mesh_call c = {.programs = m.programs,
                            .names = m.names,
                            .n = m.n,
                            .dim = dim,
                            .nin = s->nin,
                            .nout = s->nout,
                            .ndims = s->ndims,
                            .in = s->in,
                            .out = s->out,
                            .dims = s->dims};
    if (!st) st = fc_mesh_run(&c, e);
    *seconds = fc_seconds_now() - start;
    fc_mesh_close(&m);
    if (st == FUSEC_INVALID) {
        const size_t n = strlen(e->message);
        snprintf(e->message + n, sizeof e->message - n,
                 "\n  help: without --devices one device computes it");
    }
    return st;
}
