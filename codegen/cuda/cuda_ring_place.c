/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuda_ring_place.c - what lies in a place of a ring, and the text that works on a chunk of it.
 *
 * In: a phase and its slice. Out: the loads of a warp from the place, its code, and what it leaves
 * there: values that a later phase takes over, and results that leave by bulk copies. Both are
 * where a load was that nobody needs any more; a thread reads and writes the same elements, so no
 * one else's are in its way. */
#include <stdio.h>

#include "codegen/cuda/cuda_ring.h"

enum { SIXTEEN = 16, ROOM = 40 /* characters of an expression for a number of bytes */ };

/* ---- values that are held where a load was --------------------------------------------------- */

enum { NEVER = UINT8_MAX };

static void set_held(fc_cuda_gen *g, uint8_t from, uint8_t to) {
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (g->hold[v] == from) g->hold[v] = to;
}

/* o->first and o->last, with what is held now. */
static void find_phases(fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    memset(o->first, NEVER, g->code.ins.len);
    memset(o->last, 0, g->k->accesses.len);
    for (unsigned s = 0; s <= g->k->nstages; s++) {
        fc_cuda_slice(g, s == g->k->nstages ? (unsigned)FC_CUDA_STORES : s, FC_POINT);
        for (uint32_t a = 0; a < g->k->accesses.len; a++)
            if (g->used[a] & FC_CUDA_LOADS) o->last[a] = (uint8_t)s;
        for (fc_val v = 0; v < g->code.ins.len; v++)
            if (g->need[v] && o->first[v] == NEVER) o->first[v] = (uint8_t)s;
        fc_cuda_now_held(g);
    }
    set_held(g, FC_CUDA_HELD, FC_CUDA_HOLD);
}

static bool find_room(fc_ring *o, fc_val v) {
    fc_cuda_gen *g = o->in.g;
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        bool taken = false;
        for (fc_val other = 0; other < v; other++)
            if (g->hold[other] && o->inside[other] == a) taken = true;
        o->inside[v] = a;
        if (g->cached[a] && !taken && o->last[a] <= o->first[v] &&
            fc_cuda_bytes(g->k, a) == fc_dtypes[g->code.ins.at[v].dtype].bytes)
            return true;
    }
    return false;
}

/* Without room a value is computed again, and what it is made of is loaded longer. */
static fusec_status hold_inside(fc_ring *o, fc_error *e) {
    fc_cuda_gen *g = o->in.g;
    FC_TRY(fc_cuda_choose_held(g, 0, e));
    for (bool again = true; again;) {
        again = false;
        find_phases(o);
        for (fc_val v = 0; v < g->code.ins.len && !again; v++) {
            if (!g->hold[v] || find_room(o, v)) continue;
            g->hold[v] = 0;
            again = true;
        }
    }
    return FUSEC_OK;
}

/* Stores of neighbours that have the room of a load: nobody needs that any more when a thread has
 * computed what takes its place. Whole vectors of a cluster leave by the threads at once. */
static void find_sent(fc_ring *o) {
    const fc_cuda_gen *g = o->in.g;
    const fc_kernel *k = g->k;
    if (o->cluster && g->cls->aligned) return;
    for (size_t s = 0; s < k->stores.len; s++) {
        uint32_t to = k->stores.at[s].access;
        if (k->accesses.at[to].level != FC_POINT ||
            fc_class_move(g->cls, to, g->np) != FC_MOVE_ONE || o->sent[to])
            continue;
        for (uint32_t a = 0; a < k->accesses.len && !o->sent[to]; a++) {
            bool taken = false;
            for (uint32_t other = 0; other < k->accesses.len; other++)
                if (o->sent[other] && o->outside[other] == a) taken = true;
            o->outside[to] = a;
            o->sent[to] = g->cached[a] && !taken && fc_cuda_bytes(k, a) == fc_cuda_bytes(k, to);
        }
    }
}

static fusec_status settle(fc_ring *o, fc_error *e) {
    fc_cuda_gen *g = o->in.g;
    const size_t n = g->code.ins.len, accesses = g->k->accesses.len;
    o->inside = fc_malloc(g->code.alloc, (n + accesses + 1) * sizeof *o->inside);
    o->first = fc_calloc(g->code.alloc, n + 2 * accesses + 1, 1);
    if (!o->inside || !o->first) return fc_oom(e);
    o->last = o->first + n;
    o->sent = o->last + accesses;
    o->outside = o->inside + n;
    FC_TRY(fc_cuda_ring_loads(g->k, g->cls, g->cached, e));
    FC_TRY(hold_inside(o, e));
    find_sent(o);
    return FUSEC_OK;
}

fusec_status fc_ring_open(fc_cuda_gen *g, fc_error *e) {
    g->ring = fc_calloc(g->code.alloc, 1, sizeof *g->ring);
    if (!g->ring) return fc_oom(e);
    g->ring->in = fc_cuda_inner_of(g);
    g->ring->cluster = g->cls->cuda.blocks > 0;
    return settle(g->ring, e);
}

void fc_ring_close(fc_cuda_gen *g) {
    if (!g->ring) return;
    fc_free(g->code.alloc, g->ring->inside);
    fc_free(g->code.alloc, g->ring->first);
    fc_free(g->code.alloc, g->ring);
}

bool fc_ring_sends(const fc_ring *o) {
    for (uint32_t a = 0; a < o->in.g->k->accesses.len; a++)
        if (o->sent[a]) return true;
    return false;
}

/* ---- text: a chunk of a warp ----------------------------------------------------------------- */

static const char *storage(const fc_cuda_gen *g, uint32_t a) {
    return fc_dtypes[g->k->accesses.at[a].dtype].cuda;
}

static const char *held_type(const fc_cuda_gen *g, fc_val v) {
    return fc_dtypes[g->code.ins.at[v].dtype].cuda;
}

/* Whether the phase takes it over, or leaves it to others. */
static bool holds(const fc_cuda_gen *g, fc_val v) {
    return g->hold[v] && g->need[v];
}

/* Bytes before the room of an access, as an expression: a ring's parts are known when the text is
 * compiled. */
static void room_before(const fc_ring *o, uint32_t access, char out[ROOM]) {
    const fc_cuda_gen *g = o->in.g;
    unsigned each = 0, rooms = 0;
    for (uint32_t a = 0; a < access; a++) {
        if (!g->cached[a]) continue;
        each += fc_cuda_bytes(g->k, a);
        rooms++;
    }
    if (o->cluster && rooms)
        snprintf(out, ROOM, "(span * %u + %u)", each, rooms * FC_CUDA_LINE);
    else
        snprintf(out, ROOM, "%u",
                 o->cluster ? 0 : fc_ring_room(g->k, fc_ring_part(g->cls), g->cached, access));
}

/* This thread's first element in the room of an access; of a cluster, that of the block's first
 * chunk. */
static void pointer(const fc_ring *o, const char *type, const char *name, uint32_t of) {
    fc_cuda_gen *g = o->in.g;
    unsigned buffer = (unsigned)g->k->accesses.at[of].buffer;
    char at[ROOM], warp[32] = "";
    room_before(o, of, at);
    if (!o->cluster)
        snprintf(warp, sizeof warp, "warp * %u + ",
                 (unsigned)o->in.g->cls->cuda.warp_chunks * FC_CHUNK);
    fc_cuda_line(&g->t,
                 "%s *const %s = (%s *)(here + %s + fc_shift(a%u + b%u + from)) + "
                 "(%slane * %d);",
                 type, name, type, at, buffer, (unsigned)of, warp, fc_inner_lane(&o->in));
}

void fc_ring_begin_place(const fc_ring *o) {
    const fc_cuda_gen *g = o->in.g;
    fc_cuda_line(&o->in.g->t, "char *const here = (char *)ring + place * %u;",
                 fc_ring_place_bytes(g->k, fc_ring_part(g->cls), g->cached));
}

void fc_ring_pointers(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    char name[24];
    if (!o->cluster) fc_ring_begin_place(o);
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        snprintf(name, sizeof name, "r%u", (unsigned)a);
        if (g->cached[a] && (g->used[a] & FC_CUDA_LOADS)) pointer(o, storage(g, a), name, a);
    }
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        snprintf(name, sizeof name, "k%u", (unsigned)v);
        if (holds(g, v)) pointer(o, held_type(g, v), name, o->inside[v]);
    }
    for (uint32_t a = 0; o->phase == FC_CUDA_STORES && a < g->k->accesses.len; a++) {
        snprintf(name, sizeof name, "z%u", (unsigned)a);
        if (o->sent[a]) pointer(o, storage(g, a), name, o->outside[a]);
    }
}

/* How four elements are aligned, which are read or written at once up to 16 bytes. */
static unsigned quad_alignment(unsigned bytes) {
    return bytes * FC_CUDA_QUAD < SIXTEEN ? bytes * FC_CUDA_QUAD : (unsigned)SIXTEEN;
}

/* Whole lines come by bulk copies, what is left of a part by ordinary loads. */
void fc_ring_fetch(const fc_ring *o, const char *gate) {
    fc_cuda_gen *g = o->in.g;
    fc_cuda_line(&g->t, "unsigned int bytes = 0;");
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        char at[ROOM];
        if (!g->cached[a]) continue;
        room_before(o, a, at);
        fc_cuda_line(&g->t, "{");
        fc_cuda_line(&g->t, "const %s *const there = a%u + b%u + from;", storage(g, a),
                     (unsigned)g->k->accesses.at[a].buffer, (unsigned)a);
        fc_cuda_line(&g->t, "const fc_piece e = fc_piece_of(there, length * %u);",
                     fc_cuda_bytes(g->k, a));
        fc_cuda_line(&g->t, "fc_bring((%s *)(here + %s + fc_shift(there)), there, e, lane, %s);",
                     storage(g, a), at, gate);
        fc_cuda_line(&g->t, "bytes += e.middle;");
        fc_cuda_line(&g->t, "}");
    }
    fc_cuda_line(&g->t, "if (lane == 0)");
    fc_cuda_line(&g->t, "    fc_gate_expect(%s, bytes);", gate);
    fc_cuda_line(&g->t, "else");
    fc_cuda_line(&g->t, "    fc_gate_join(%s);", gate);
}

typedef struct room { /* four elements of a thread, in registers and where `pointer` says */
    const char *type;
    unsigned bytes; /* of an element */
    char group[24], there[24];
} room;

static room room_of(const char *type, unsigned bytes, char group, char there, unsigned number) {
    room m = {.type = type, .bytes = bytes};
    snprintf(m.group, sizeof m.group, "%c%u[u]", group, number);
    snprintf(m.there, sizeof m.there, "%c%u", there, number);
    return m;
}

/* From the place to registers or, with `back`, the other way. What does not exist is 0, so that
 * nothing odd comes of what was there before. */
static void move_group(const fc_ring *o, const room *m, const char *limit, bool back) {
    fc_cuda_text *t = &o->in.g->t;
    char place[96], group[40];
    if (o->in.apart > 1 || limit) {
        snprintf(place, sizeof place, "%s[c + (h + u) * %d + e * %u]", m->there, FC_LANES,
                 o->in.apart);
        snprintf(group, sizeof group, "%s.e[e]", m->group);
        fc_cuda_line(t, "#pragma unroll");
        fc_cuda_line(t, "for (int e = 0; e < %d; e++) {", FC_CUDA_QUAD);
        if (limit && !back)
            fc_cuda_line(t, "%s = k + e * %u < %s ? %s : (%s)0;", group, o->in.apart, limit, place,
                         m->type);
        else
            fc_cuda_line(t, "%s = %s;", back ? place : group, back ? group : place);
        fc_cuda_line(t, "}");
    } else {
        snprintf(place, sizeof place, "*(fc_vec<%s, %d, %u> *)(%s + (c + (h + u) * %d))", m->type,
                 FC_CUDA_QUAD, quad_alignment(m->bytes), m->there, FC_LANES);
        fc_cuda_line(t, "%s = %s;", back ? place : m->group, back ? m->group : place);
    }
}

static void load_groups(const fc_ring *o, const char *limit) {
    fc_cuda_gen *g = o->in.g;
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        if (!g->cached[a] || !(g->used[a] & FC_CUDA_LOADS)) continue;
        room m = room_of(storage(g, a), fc_cuda_bytes(g->k, a), 'q', 'r', (unsigned)a);
        move_group(o, &m, limit, false);
    }
}

/* What the phase takes over from earlier ones or, with `back`, what it leaves to later ones. */
static void move_held(const fc_ring *o, const char *limit, bool back) {
    fc_cuda_gen *g = o->in.g;
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        if (!holds(g, v) || (g->hold[v] == FC_CUDA_HOLD) != back) continue;
        room m = room_of(held_type(g, v), fc_dtypes[g->code.ins.at[v].dtype].bytes, 's', 'k',
                         (unsigned)v);
        move_group(o, &m, limit, back);
    }
}

static void declare_groups(const fc_ring *o, const fc_cuda_group *quad, int batch) {
    fc_cuda_gen *g = o->in.g;
    fc_cuda_group_declare(g, quad, batch, false);
    fc_cuda_group_declare(g, quad, batch, true);
    for (fc_val v = 0; v < g->code.ins.len; v++) {
        unsigned align = quad_alignment(fc_dtypes[g->code.ins.at[v].dtype].bytes);
        if (holds(g, v))
            fc_cuda_line(&g->t, "fc_vec<%s, %d, %u> s%u[%d];", held_type(g, v), FC_CUDA_QUAD, align,
                         (unsigned)v, batch);
    }
    for (uint32_t a = 0; o->phase == FC_CUDA_STORES && a < g->k->accesses.len; a++) {
        unsigned align = quad_alignment(fc_cuda_bytes(g->k, a));
        if (o->sent[a])
            fc_cuda_line(&g->t, "fc_vec<%s, %d, %u> y%u[%d];", storage(g, a), FC_CUDA_QUAD, align,
                         (unsigned)a, batch);
    }
}

static void begin_iterations(const fc_ring *o, int batch) {
    fc_cuda_line(&o->in.g->t, "#pragma unroll");
    fc_cuda_line(&o->in.g->t, "for (int u = 0; u < %d; u++) {", batch);
    fc_cuda_line(&o->in.g->t, "const ix k = first + c + (h + u) * %d + lane * %d;", FC_LANES,
                 fc_inner_lane(&o->in));
}

/* Iterations whose loads stand side by side: 32 registers of them, and of what is left in
 * the place; 16 in a cluster, where as many warps more hide the rest, and results take the
 * registers of what they are made of. */
unsigned fc_ring_batch(fc_ring *o, unsigned phase) {
    const fc_cuda_gen *g = o->in.g;
    unsigned bytes = 0, most = o->cluster ? 64 : 128;
    unsigned batch = (unsigned)o->in.batch;
    for (uint32_t a = 0; a < g->k->accesses.len; a++) {
        const bool leaves = phase == FC_PHASE_ELEMENTS && o->sent[a] && !o->cluster;
        const bool loads = (g->used[a] & FC_CUDA_LOADS) && g->k->accesses.at[a].level == FC_POINT;
        if (loads || leaves) bytes += FC_CUDA_QUAD * fc_cuda_bytes(g->k, a);
    }
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (holds(g, v) && g->hold[v] == FC_CUDA_HELD)
            bytes += FC_CUDA_QUAD * fc_dtypes[g->code.ins.at[v].dtype].bytes;
    while (batch > 1 && batch * bytes > most) batch /= 2;
    return batch;
}

static void compute_pass(const fc_cuda_inner *in) {
    const fc_ring *o = (const fc_ring *)in;
    begin_iterations(o, o->batch);
    fc_cuda_group_compute(in->g, &o->quad, o->phase);
    fc_cuda_line(&in->g->t, "}");
}

/* What the phase leaves in the place: values for later ones, results on their way. */
static void leave(const fc_ring *o) {
    fc_cuda_gen *g = o->in.g;
    begin_iterations(o, o->batch);
    move_held(o, NULL, true);
    for (uint32_t a = 0; o->phase == FC_CUDA_STORES && a < g->k->accesses.len; a++) {
        if (!o->sent[a]) continue;
        room m = room_of(storage(g, a), fc_cuda_bytes(g->k, a), 'y', 'z', (unsigned)a);
        move_group(o, &m, NULL, true);
    }
    fc_cuda_line(&g->t, "}");
}

static bool leaves(const fc_ring *o) {
    const fc_cuda_gen *g = o->in.g;
    for (fc_val v = 0; v < g->code.ins.len; v++)
        if (holds(g, v) && g->hold[v] == FC_CUDA_HOLD) return true;
    for (uint32_t a = 0; o->phase == FC_CUDA_STORES && a < g->k->accesses.len; a++)
        if (o->sent[a]) return true;
    return false;
}

/* At most one chunk of a row is not whole, so its text is short. */
void fc_ring_turns(fc_ring *o, const fc_loop *n, const char *limit) {
    fc_cuda_gen *g = o->in.g;
    o->batch = n->batch;
    o->quad = o->in.quad;
    o->quad.limit = limit;
    o->quad.taken = "h + u";
    o->quad.aside = o->sent;
    fc_cuda_line(&g->t, n->kind == FC_LOOP_UNROLL ? "#pragma unroll" : "#pragma unroll 1");
    fc_cuda_line(&g->t, "for (int h = 0; h < %u; h += %d) {", (unsigned)n->count, o->batch);
    if (limit) fc_cuda_line(&g->t, "if (first + c + h * %d >= %s) break;", FC_LANES, limit);
    declare_groups(o, &o->quad, o->batch);
    begin_iterations(o, o->batch);
    fc_cuda_group_load(g, &o->quad, false);
    load_groups(o, limit);
    move_held(o, limit, false);
    fc_cuda_line(&g->t, "}");
    o->quad.whole = o->in.apart == 1 && g->cls->cuda.whole;
    if (o->phase == FC_CUDA_STORES)
        fc_inner_store(&o->in, compute_pass);
    else
        compute_pass(&o->in);
    if (leaves(o)) leave(o);
    fc_cuda_line(&g->t, "}");
}
