/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* split.c - see split.h. */
#include "frontend/cli/split.h"

#include <stdio.h>

#include "frontend/cli/ahead.h"
#include "frontend/cli/explain_pieces.h"
#include "frontend/cli/job_mesh.h"
#include "frontend/cli/outputs.h"
#include "frontend/cli/progress.h"
#include "runtime/partial.h"

enum { AHEAD = 3, SLOTS = AHEAD + FC_MESH_MOST }; /* pieces that are read ahead, and all of them */

/* An input that is read, or a result that is written, a piece at a time. */
typedef struct stream {
    uint32_t number;
    int64_t row; /* bytes of a position */
    fc_cli_input *in;
    fc_npy header;
    char *buffer[SLOTS];       /* of pieces that are read; of a result one for each device */
    int64_t begin[SLOTS], end; /* the first position in each, and where reading has come */
    char *head, *tail; /* of one that goes round its ends: the positions that are read there */
    int64_t nhead, ntail;
} stream;

struct split;

/* A device, with the piece that it computes. */
typedef struct worker {
    struct split *c;
    const char *name;
    fc_cut *cut;
    fc_partial *known, *found; /* of all devices in the sweeps before; in this one */
    uint32_t number, sweep;
    unsigned slot;
    int64_t from, n;
    pthread_t thread;
    bool threaded;
    fusec_status status;
    fc_error error;
} worker;

typedef struct split {
    fc_job *s;
    fc_program *p;
    fc_cut *cut; /* of the first device */
    fc_mesh_list devices;
    worker *workers; /* [devices.n] */
    unsigned slots;
    int64_t total, step;
    uint32_t passes; /* through the files */
    stream *in, *out;
    uint32_t nin, nout;
    FC_VEC(void *) locked; /* page-locked buffers */
} split;

/* ---- the size -------------------------------------------------------------------------------- */

static fusec_status find_cut(split *c, fc_error *e) {
    char name[64];
    FC_TRY(fc_pieces_size(c->s, name, &c->step, e));
    FC_TRY(fc_cut_new(c->p, name, &c->cut, e));
    c->cut->ndims = c->s->ndims, c->cut->dims = c->s->dims;
    c->total = fc_cut_total(c->cut, c->s->nin, c->s->in);
    if (c->total < 0) return fc_fail(e, FUSEC_INVALID, "no input lies along %s", name);
    return c->cut->pieces.nsweeps ? FUSEC_OK
                                  : fc_fail(e, FUSEC_INVALID, "no result depends on %s", name);
}

/* ---- what is read and written in pieces ------------------------------------------------------ */

static int64_t row_bytes(const fc_tensor *t) {
    int64_t bytes = (int64_t)fc_dtypes[t->dtype].bytes;
    for (uint32_t k = 1; k < t->rank; k++) bytes = fc_mul_most(bytes, t->shape[k]);
    return bytes;
}

/* The last sweep that is done together with this one, on each piece: what waits for scans alone, if
 * the pieces come in order. */
static uint32_t last_with(const split *c, uint32_t sweep) {
    while (c->devices.n == 1 && sweep + 1 < c->cut->pieces.nsweeps &&
           fc_cut_follows(c->cut, sweep + 1))
        sweep++;
    return sweep;
}

static const fc_piece_range *range_of_input(const split *c, uint32_t i) {
    const fc_pieces *p = &c->cut->pieces;
    return &p->ranges[p->range[p->graph->inputs.at[i].node]];
}

/* Whether the input's data can be read in the order of its first axis, as often as needed. */
static bool can_stream(const split *c, uint32_t i, const fc_cli_input *in) {
    const fc_tensor *t = &c->s->in[i];
    const bool npy =
        in->kind == FC_INPUT_NPY || in->kind == FC_INPUT_STDIN || in->kind == FC_INPUT_STORE;
    if (in->has_dtype && in->dtype != t->dtype) return false;
    if (in->kind == FC_INPUT_STDIN && (c->passes > 1 || range_of_input(c, i)->round)) return false;
    return (npy && (!in->header.fortran || t->rank < 2)) || in->kind == FC_INPUT_RAW;
}

static fusec_status find_inputs(split *c, fc_error *e) {
    fc_job *s = c->s;
    c->in = fc_arena_alloc(&s->arena, (s->nin + 1) * sizeof *c->in);
    s->streamed = fc_arena_alloc(&s->arena, s->nin + 1);
    if (!c->in || !s->streamed) return fc_oom(e);
    memset(s->streamed, 0, s->nin + 1);
    for (uint32_t i = 0; i < s->nin; i++) {
        const fc_lang_param *p = fc_job_param(s, i);
        const fc_tensor *t = &s->in[i];
        if (c->cut->pieces.along[c->cut->pieces.graph->inputs.at[i].node] != 0) continue;
        if (!p || p->given == FC_LANG_NONE) continue;
        fc_cli_input *in = &s->inputs[s->given_from[p->given]];
        if (!can_stream(c, i, in)) continue;
        s->streamed[i] = true;
        stream *x = &c->in[c->nin++];
        *x = (stream){.number = i, .row = row_bytes(t), .in = in, .header = in->header};
        if (in->kind == FC_INPUT_RAW) {
            x->header = (fc_npy){.dtype = t->dtype, .rank = (int)t->rank};
            memcpy(x->header.shape, t->shape, t->rank * sizeof *t->shape);
        }
        fc_shape_bytes((int)t->rank, t->shape, fc_dtypes[t->dtype].bytes, &x->header.count,
                       &x->header.bytes);
        if (in->kind == FC_INPUT_RAW && in->reader.size >= 0 && in->reader.size != x->header.bytes)
            return fc_raw_read(&in->reader, t->dtype, (int)t->rank, t->shape, NULL, e);
    }
    return FUSEC_OK;
}

/* Whether the host has so much; what it has not is not asked for. */
static bool is_room(const split *c, int64_t bytes) {
    fc_device *host;
    uint64_t have, total;
    return fc_context_device(c->s->ctx, "interp", &host, NULL, NULL) ||
           !fc_device_memory(host, &have, &total) || (uint64_t)bytes <= have;
}

static fusec_status find_outputs(split *c, fc_error *e) {
    fc_job *s = c->s;
    FC_TRY(fc_job_shapes(s, c->p, e));
    c->out = fc_arena_alloc(&s->arena, (s->nout + 1) * sizeof *c->out);
    s->written = fc_arena_alloc(&s->arena, (s->nout + 1) * sizeof *s->written);
    if (!c->out || !s->written) return fc_oom(e);
    memset(s->written, 0, (s->nout + 1) * sizeof *s->written);
    for (uint32_t i = 0; i < s->nout; i++) {
        fc_tensor *t = &s->out[i];
        const char *file = fc_output_file(s, i, e);
        int64_t count, bytes;
        if (c->cut->pieces.along[c->cut->pieces.graph->outputs.at[i].node] == 0 && file &&
            t->dtype != FUSEC_BF16) {
            c->out[c->nout++] = (stream){.number = i, .row = row_bytes(t)};
            fc_outfile *f = fc_arena_alloc(&s->arena, sizeof *f);
            if (!f) return fc_oom(e);
            FC_TRY(fc_output_open(s, f, file, t, e));
            s->written[i] = f;
            continue;
        }
        if (!fc_shape_bytes((int)t->rank, t->shape, fc_dtypes[t->dtype].bytes, &count, &bytes) ||
            !is_room(c, bytes) || !(t->data = fc_job_memory(s, bytes)))
            return fc_fail(
                e, FUSEC_OUT_OF_MEMORY,
                "the result %s does not fit into memory\n  help: -o %s=FILE.npy writes it as it "
                "is computed",
                s->graph.outputs.at[i].name, s->graph.outputs.at[i].name);
    }
    return FUSEC_OK;
}

/* The part of a stream that a piece has; it is never longer than a piece and what lies around it.
 */
static void range_of(const split *c, const stream *x, int64_t from, int64_t n, int64_t *begin,
                     int64_t *end) {
    const fc_piece piece = {from, from + n, c->total};
    if (x->in)
        fc_cut_input_range(c->cut, x->number, &piece, begin, end);
    else
        fc_cut_output_range(c->cut, x->number, &piece, begin, end);
}

static int64_t longest(const split *c, const stream *x) {
    const fc_pieces *p = &c->cut->pieces;
    const fc_piece_range *r = x->in ? range_of_input(c, x->number) : &p->ranges[p->own[x->number]];
    return c->step + r->before + r->after + (r->extra > 0 ? r->extra : 0);
}

static fusec_status find_step(split *c, fc_error *e) {
    int64_t grain, row = 1;
    FC_TRY(fc_cut_grain(c->cut, c->s->nin, c->s->in, &grain, e));
    for (uint32_t i = 0; i < c->nin; i++) row = fc_add_most(row, c->in[i].row);
    for (uint32_t i = 0; i < c->nout; i++) row = fc_add_most(row, c->out[i].row);
    if (!c->step) c->step = fc_pieces_step(grain, row);
    if (c->step % grain) c->step += grain - c->step % grain;
    if (c->step > c->total) c->step = c->total ? c->total : 1;
    return FUSEC_OK;
}

static fc_device *a_gpu(const split *c) {
    for (uint32_t i = 0; i < c->devices.n; i++)
        if (!c->devices.programs[i]->device->host_memory) return c->devices.programs[i]->device;
    return NULL;
}

/* Page-locked where there is a GPU, which copies from there at the rate of the bus. */
static void *buffer_of(split *c, const stream *x) {
    const int64_t bytes = fc_mul_most(longest(c, x), x->row);
    fc_device *d = a_gpu(c);
    fc_error own = {0};
    void *p = NULL;
    if (!d || !d->hooks->streams || bytes == INT64_MAX ||
        d->hooks->streams->host_alloc(d, (size_t)bytes + 1, &p, &own))
        return fc_job_memory(c->s, bytes);
    if (fc_push(c->s->alloc, &c->locked, p)) return p;
    d->hooks->streams->host_free(d, p);
    return NULL;
}

static fusec_status make_buffers(split *c, fc_error *e) {
    for (uint32_t i = 0; i < c->nin; i++)
        for (unsigned k = 0; k < c->slots; k++)
            if (!(c->in[i].buffer[k] = buffer_of(c, &c->in[i]))) return fc_oom(e);
    for (uint32_t i = 0; i < c->nout; i++)
        for (uint32_t k = 0; k < c->devices.n; k++)
            if (!(c->out[i].buffer[k] = buffer_of(c, &c->out[i]))) return fc_oom(e);
    return FUSEC_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int64_t count_at(const split *c, int64_t from) {
    return c->total - from < c->step ? c->total - from : c->step;
}

/* The elements `from` on of an axis of `n`, from a part of them that begins at `first`. */
static char *copy_rows(const split *c, const stream *x, const char *part, int64_t first,
                       int64_t from, int64_t to, char *out) {
    for (; from < to; from++, out += x->row) {
        const int64_t at = (from % c->total + c->total) % c->total;
        memcpy(out, part + (at - first) * x->row, (size_t)x->row);
    }
    return out;
}

/* What a file that goes round shows beyond its ends. */
static fusec_status read_ends(split *c, stream *x, fc_error *e) {
    const fc_piece_range *r = range_of_input(c, x->number);
    if (!r->round || !c->total) return FUSEC_OK;
    x->nhead = r->after < c->total ? r->after : c->total;
    x->ntail = r->before < c->total ? r->before : c->total;
    x->head = fc_job_memory(c->s, fc_mul_most(x->nhead + x->ntail, x->row) + 1);
    if (!x->head) return fc_oom(e);
    x->tail = x->head + x->nhead * x->row;
    FC_TRY(
        fc_npy_read_part(&x->in->reader, &x->header, 0, (size_t)(x->nhead * x->row), x->head, e));
    if (x->ntail > c->total - x->nhead) FC_TRY(fc_input_again(x->in, e)); /* they overlap */
    const int64_t at = x->ntail > c->total - x->nhead ? 0 : x->nhead;
    FC_TRY(fc_reader_skip(&x->in->reader, (c->total - x->ntail - at) * x->row, e));
    FC_TRY(fc_npy_read_part(&x->in->reader, &x->header, (c->total - x->ntail) * x->row,
                            (size_t)(x->ntail * x->row), x->tail, e));
    return fc_input_again(x->in, e);
}

/* What of the piece the one before has, too, is not read again. */
static fusec_status read_stream(const split *c, stream *x, int64_t from, unsigned slot,
                                fc_error *e) {
    int64_t begin, end;
    const unsigned before = (slot + c->slots - 1) % c->slots;
    const int64_t count = count_at(c, from);
    range_of(c, x, from, count, &begin, &end);
    const int64_t length = fc_cut_input_length(c->cut, x->number, c->total);
    const int64_t first = begin < 0 ? 0 : begin, last = end > length ? length : end;
    const int64_t known = x->end > first ? x->end - first : 0;
    char *to = copy_rows(c, x, x->tail, c->total - x->ntail, begin, first, x->buffer[slot]);
    if (known)
        memcpy(to, x->buffer[before] + (first - x->begin[before]) * x->row,
               (size_t)(known * x->row));
    x->begin[slot] = begin;
    const int64_t at = first + known, n = last > at ? last - at : 0;
    FC_TRY(fc_npy_read_part(&x->in->reader, &x->header, at * x->row, (size_t)(n * x->row),
                            to + known * x->row, e));
    x->end = at + n;
    copy_rows(c, x, x->head, 0, last, end, to + (last - first) * x->row);
    if (from + count < c->total) return FUSEC_OK;
    x->end = 0; /* of the next sweep */
    return fc_npy_read_end(&x->in->reader, &x->header, e);
}

static fusec_status read_piece(void *user, int64_t k, unsigned slot, fc_error *e) {
    split *c = user;
    for (uint32_t i = 0; i < c->nin; i++) FC_TRY(read_stream(c, &c->in[i], k * c->step, slot, e));
    return FUSEC_OK;
}

/* Files from their beginning, for one more sweep. */
static fusec_status again(split *c, fc_error *e) {
    for (uint32_t i = 0; i < c->nin; i++) FC_TRY(fc_input_again(c->in[i].in, e));
    return FUSEC_OK;
}

/* ---- a sweep --------------------------------------------------------------------------------- */

static fusec_status compute(const worker *w, fc_error *e) {
    split *c = w->c;
    fc_job *s = c->s;
    const fc_pieces *p = &c->cut->pieces;
    fc_arena arena;
    fusec_status st = FUSEC_OK;
    fc_arena_init(&arena, s->alloc);
    fc_tensor *in = fc_arena_alloc(&arena, (s->nin + s->nout + 1) * sizeof *in), *out = in + s->nin;
    if (!in) st = fc_oom(e);
    const fc_piece piece = {w->from, w->from + w->n, c->total};
    int64_t begin, end;
    for (uint32_t i = 0; i < s->nin && !st; i++) {
        const int axis = p->along[p->graph->inputs.at[i].node];
        fc_cut_input_range(c->cut, i, &piece, &begin, &end);
        if (!fc_cut_view(&arena, &s->in[i], axis, begin, end - begin, &in[i])) st = fc_oom(e);
    }
    for (uint32_t i = 0; i < s->nout && !st; i++) {
        const int axis = p->along[p->graph->outputs.at[i].node];
        fc_cut_output_range(c->cut, i, &piece, &begin, &end);
        if (!fc_cut_view(&arena, &s->out[i], axis, begin, end - begin, &out[i])) st = fc_oom(e);
    }
    for (uint32_t i = 0; i < c->nin && !st; i++)
        in[c->in[i].number].data = c->in[i].buffer[w->slot];
    for (uint32_t i = 0; i < c->nout && !st; i++)
        out[c->out[i].number].data = c->out[i].buffer[w->number];
    if (!st)
        st = fc_cut_run(w->cut, NULL, w->sweep, &piece, s->nin, in, s->nout, out, w->known,
                        w->found, e);
    fc_arena_free(&arena);
    return st;
}

static fusec_status write_piece(split *c, const worker *w, fc_error *e) {
    const fc_pieces *p = &c->cut->pieces;
    int64_t begin, end;
    for (uint32_t i = 0; i < c->nout; i++) {
        const stream *x = &c->out[i];
        range_of(c, x, w->from, w->n, &begin, &end);
        if (p->sweep[p->graph->outputs.at[x->number].node] == w->sweep)
            FC_TRY(fc_outfile_write(c->s->written[x->number], x->buffer[w->number],
                                    (size_t)((end - begin) * x->row), e));
    }
    return FUSEC_OK;
}

static void *work(void *user) {
    worker *w = user;
    w->error = (fc_error){0};
    w->status = compute(w, &w->error);
    return NULL;
}

/* The pieces that the first n devices have, at the same time; then their results in order. */
static fusec_status run_group(split *c, uint32_t n, fc_error *e) {
    for (uint32_t i = 1; i < n; i++)
        c->workers[i].threaded = !pthread_create(&c->workers[i].thread, NULL, work, &c->workers[i]);
    work(&c->workers[0]);
    for (uint32_t i = 1; i < n; i++)
        if (c->workers[i].threaded)
            pthread_join(c->workers[i].thread, NULL);
        else
            work(&c->workers[i]);
    for (uint32_t i = 0; i < n; i++) {
        const worker *w = &c->workers[i];
        if (w->status && c->devices.n > 1)
            return fc_fail(e, w->status, "%.80s: %.800s", w->name, w->error.message);
        if (w->status) return fc_fail(e, w->status, "%s", w->error.message);
        FC_TRY(write_piece(c, w, e));
    }
    return FUSEC_OK;
}

/* Several devices tell each other what they found; one alone adds it to what it knows. */
static fusec_status begin_sweep(split *c, fc_error *e) {
    for (uint32_t i = 0; i < c->devices.n && c->devices.n > 1; i++)
        FC_TRY(fc_partial_new(c->workers[i].cut, &c->workers[i].found, e));
    return FUSEC_OK;
}

static fusec_status end_sweep(split *c, fc_error *e) {
    for (uint32_t i = 0; i < c->devices.n && c->devices.n > 1; i++) {
        for (uint32_t k = 0; k < c->devices.n; k++)
            FC_TRY(fc_partial_tell(c->workers[i].found, c->workers[k].known, e));
        fc_partial_free(c->workers[i].found);
        c->workers[i].found = NULL;
    }
    return FUSEC_OK;
}

/* Sweeps that are done together on each piece. */
static fusec_status run_sweeps(split *c, uint32_t first, uint32_t last, uint32_t pass,
                               fc_progress *progress, fc_error *e) {
    const int64_t pieces = c->total ? (c->total - 1) / c->step + 1 : 1;
    fusec_status st = begin_sweep(c, e);
    fc_ahead reader;
    fc_ahead_start(&reader, c->slots, pieces, read_piece, c);
    for (int64_t k = 0; k < pieces && !st;) {
        uint32_t n = 0;
        for (; n < c->devices.n && k < pieces && !st; n++, k++) {
            worker *w = &c->workers[n];
            w->from = k * c->step, w->n = count_at(c, w->from);
            w->slot = (unsigned)(k % c->slots);
            st = fc_ahead_wait(&reader, k, e);
        }
        for (uint32_t s = first; s <= last && !st; s++) {
            for (uint32_t i = 0; i < n; i++) c->workers[i].sweep = s;
            st = run_group(c, n, e);
        }
        for (uint32_t i = 0; i < n; i++) fc_ahead_give_back(&reader);
        fc_progress_step(progress, (k < pieces ? k * c->step : c->total) + (int64_t)pass * c->total,
                         c->total * (int64_t)c->passes);
    }
    fc_ahead_end(&reader);
    return st ? st : end_sweep(c, e);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* The devices behind the first one have programs and cuts of their own. */
static fusec_status find_devices(split *c, fc_error *e) {
    FC_TRY(fc_mesh_open(c->s, c->p, &c->devices, e));
    c->workers = fc_arena_alloc(&c->s->arena, c->devices.n * sizeof *c->workers);
    if (!c->workers) return fc_oom(e);
    c->slots = AHEAD + c->devices.n;
    for (uint32_t i = 0; i < c->devices.n; i++) {
        worker *w = &c->workers[i];
        *w = (worker){.c = c, .number = i, .name = c->devices.names[i]};
        if (i) {
            const fc_pieces *p = &c->cut->pieces;
            FC_TRY(fc_cut_new(c->devices.programs[i], p->graph->dims.syms.at[p->sym].name, &w->cut,
                              e));
            w->cut->ndims = c->s->ndims, w->cut->dims = c->s->dims;
        } else {
            w->cut = c->cut;
        }
        FC_TRY(fc_partial_new(w->cut, &w->known, e));
        if (c->devices.n == 1) w->found = w->known;
    }
    return FUSEC_OK;
}

static void close_devices(split *c) {
    fc_device *d = a_gpu(c);
    for (size_t i = 0; i < c->locked.len; i++) d->hooks->streams->host_free(d, c->locked.at[i]);
    fc_vec_free(c->s->alloc, &c->locked);
    for (uint32_t i = 0; c->workers && i < c->devices.n; i++) {
        worker *w = &c->workers[i];
        if (w->found != w->known) fc_partial_free(w->found);
        fc_partial_free(w->known);
        if (i) fc_cut_free(w->cut);
    }
    fc_cut_free(c->cut);
    fc_mesh_close(&c->devices);
}

static fusec_status prepare(split *c, fc_error *e) {
    FC_TRY(find_cut(c, e));
    FC_TRY(find_devices(c, e));
    for (uint32_t k = 0; k < c->cut->pieces.nsweeps; k = last_with(c, k) + 1) c->passes++;
    FC_TRY(find_inputs(c, e));
    FC_TRY(find_outputs(c, e));
    FC_TRY(find_step(c, e));
    FC_TRY(make_buffers(c, e));
    for (uint32_t i = 0; i < c->nin; i++) FC_TRY(read_ends(c, &c->in[i], e));
    return fc_job_data(c->s, false, e);
}

static fusec_status run_all(split *c, fc_error *e) {
    fc_job *s = c->s;
    fc_progress progress;
    fusec_status st = FUSEC_OK;
    const fc_pieces *p = &c->cut->pieces;
    char on[40] = "";
    if (c->devices.n > 1) snprintf(on, sizeof on, " on %u devices", c->devices.n);
    fc_cli_note(s->cli, "split", "computed along %s in pieces of %lld of %lld%s%s",
                p->graph->dims.syms.at[p->sym].name, (long long)c->step, (long long)c->total, on,
                c->passes > 1 ? ", which are read more than once" : "");
    fc_progress_start(&progress, "computing in pieces", false, s->cli->quiet, s->cli->verbose);
    for (uint32_t k = 0, pass = 0; k < p->nsweeps && !st; k = last_with(c, k) + 1, pass++) {
        if (pass) st = again(c, e);
        if (!st) st = run_sweeps(c, k, last_with(c, k), pass, &progress, e);
    }
    fc_progress_end(&progress);
    if (!st)
        st = fc_cut_finish(c->cut, NULL, c->total, s->nin, s->in, s->nout, s->out,
                           c->workers[0].known, e);
    for (uint32_t i = 0; i < c->nout && !st; i++)
        st = fc_outfile_finish(s->written[c->out[i].number], e);
    return st;
}

fusec_status fc_split_run(fc_job *s, fc_program *p, double *seconds, fc_error *e) {
    split c = {.s = s, .p = p};
    const double start = fc_seconds_now();
    fusec_status st = prepare(&c, e);
    if (!st) st = run_all(&c, e);
    close_devices(&c);
    *seconds = fc_seconds_now() - start;
    return st;
}

void fc_split_close(fc_job *s) {
    for (uint32_t i = 0; s->written && i < s->nout; i++)
        if (s->written[i]) fc_cli_out_abandon(s->written[i]);
    s->written = NULL;
}
