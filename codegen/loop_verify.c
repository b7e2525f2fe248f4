/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* loop_verify.c - whether a loop form does what its kernel asks for.
 *
 * In: a form, its kernel and class. Out: FUSEC_OK, or FUSEC_INTERNAL with the first rule it breaks:
 *
 * - kinds: grid and task loops stand outside, one right inside the other, and roles right inside of
 *   these; vectors are not inside vectors; a target has loops of its kinds only.
 * - ranges: a loop runs over whole axes, or over what a loop around it with a larger step left of
 *   just these; kept axes and reduced ones are not numbered as one.
 * - places: code runs where all its axes have a number or are the lanes; what is once for a row,
 *   outside of the loops over its elements.
 * - the tree: a partial of a counter is a subtree of the order of ir/graph.h, and is made
 * before it is pushed; what is got from others somebody put.
 * - order: a phase runs when the results of all stages before it are there.
 * - stores: each level of stores that the kernel has stands once.
 * - buffers: each is filled or flushed, and lies as it says; what comes by itself, or is passed on,
 *   is there when it is read, and a turn leaves buffers as it found them.
 * - cases of one place leave the same accumulators, and what all of them passed on is there.
 * - a walk that goes once has elements with results of stages that are not finished, if these are
 *   rescaled when they change, or at the end. */
#include "codegen/loop_verify.h"

static fusec_status list(verifier *v, uint32_t at);

/* Whether a loop is over some of the axes [first, end) of the part at hand. */
static bool is_over(const verifier *v, const fc_loop *n, unsigned first, unsigned end) {
    for (unsigned a = first; a < end; a++)
        if (axis_of(v, a) >= n->first && axis_of(v, a) < n->end) return true;
    return false;
}

static bool is_over_reduced(const verifier *v, const fc_loop *n) {
    return is_over(v, n, v->cls->np, (unsigned)v->cls->np + v->cls->nr);
}

static bool goes_once(const verifier *v) {
    return v->cls->target == FC_TARGET_CUDA && v->part[0].cls->cuda.flash_once;
}

/* ---- tiles --------------------------------------------------------------------------------------
 */

static bool in_tiles(const verifier *v) {
    if (v->cls->target == FC_TARGET_CUDA)
        return v->cls->cuda.kind == FC_CUDA_DOT ||
               (v->cls->cuda.kind == FC_CUDA_FLASH && v->k->schedule == FC_SCHED_DOT);
    return v->cls->llvm.panels || v->cls->llvm.direct;
}

/* Rows and columns of a tile are some of a number that the text has, all else is at its place. */
static bool has_tile(const verifier *v) {
    const bool cuda = v->cls->target == FC_TARGET_CUDA;
    const unsigned down = cuda ? v->cls->cuda.dot_axis : v->cls->llvm.down_axis,
                   across = cuda ? v->cls->cuda.dot_across : v->cls->np - 1u;
    for (unsigned a = 0; a < v->cls->np; a++) {
        const unsigned of = fc_class_numbered(v->cls, a);
        const bool side = of == down || of == across;
        const uint32_t range = range_of(v, a);
        if (side ? range == WHOLE_AXIS || range >= FC_STEP_COLUMNS : range != 1) return false;
    }
    return true;
}

static bool is_bare(const verifier *v) {
    return v->cls->target == FC_TARGET_LLVM && v->cls->llvm.bare;
}

/* ---- loops ----------------------------------------------------------------------------------- */

static bool is_outside(unsigned kind) {
    return kind == FC_LOOP_TASK || kind == FC_LOOP_GRID;
}

static bool is_of_target(const verifier *v, unsigned kind) {
    const bool cuda = v->cls->target == FC_TARGET_CUDA;
    switch (kind) {
    case FC_LOOP_TASK: return !cuda;
    case FC_LOOP_GRID:
    case FC_LOOP_BLOCK:
    case FC_LOOP_WARP:
    case FC_LOOP_LANE:
    case FC_LOOP_ROLE:
    case FC_LOOP_CASE: return cuda;
    default: return true;
    }
}

/* Whether a loop leaves just what it had: where it is only asked whether that is whole, or parts of
 * a chunk's lanes are taken. */
static bool keeps_range(const fc_loop *n) {
    return n->kind == FC_LOOP_CASE || n->way == FC_LOOP_SPREAD;
}

/* The elements of a lane of a chunk, whose first one has been found. */
static bool is_lane(const verifier *v, const fc_loop *n) {
    return v->cls->target == FC_TARGET_LLVM && n->way == FC_LOOP_CARRY && n->step == FC_LANES &&
           v->range[n->first] == 1;
}

/* Of threads, which are numbers of hardware even if there is one. */
static bool has_one_turn(const verifier *v, const fc_loop *n, unsigned axis) {
    const bool one = n->count == 1 || n->step == FC_STEP_SPAN; /* a span of blocks, then of warps */
    return v->cls->target == FC_TARGET_CUDA && one && v->range[axis] == n->step;
}

static bool is_masked(const verifier *v) {
    return v->cls->target == FC_TARGET_CUDA && v->part[0].cls->cuda.flash_mask;
}

static fusec_status check_axes(verifier *v, const fc_loop *n) {
    if (n->first >= n->end || n->end > fc_verify_axes(v))
        BAD("there are no axes %u to %u", n->first, n->end);
    for (uint32_t p = 0; p < v->parts; p++) {
        use(v, p);
        if (is_over_reduced(v, n) && is_over(v, n, 0, v->cls->np))
            BAD("kept and reduced axes are numbered as one");
    }
    use(v, n->part);
    return FUSEC_OK;
}

static fusec_status check_loop(verifier *v, const fc_loop *n) {
    FC_TRY(check_axes(v, n));
    if (!is_of_target(v, n->kind)) BAD("a loop of another target");
    if (n->way >= FC_LOOP_HIDDEN && n->way <= FC_LOOP_SHOWN && !is_masked(v))
        BAD("no mask hides elements");
    if (is_outside(n->kind) && v->in_code) BAD("a unit inside of a unit");
    if (n->kind == FC_LOOP_VECTOR && v->in_vector) BAD("a vector inside of a vector");
    if (!n->body) BAD("a loop without a body");
    if (!n->step) BAD("a loop without a step");
    for (unsigned a = n->first; a < n->end; a++) {
        const uint32_t least = n->kind == FC_LOOP_VECTOR || keeps_range(n) ? 1 : n->step;
        if (v->range[a] != v->range[n->first]) BAD("axes of different ranges numbered as one");
        if (v->range[a] != WHOLE_AXIS && v->range[a] <= least && !has_one_turn(v, n, a) &&
            !is_lane(v, n))
            BAD("axis %u has its place already", a);
    }
    return FUSEC_OK;
}

/* Nothing but a condition: a turn that some loop around it makes. */
static fusec_status last_turn(verifier *v, const fc_loop *n) {
    for (unsigned a = n->first; a < n->end; a++)
        if (v->range[a] == WHOLE_AXIS) BAD("the last turn of no loop");
    if (!n->body) BAD("a loop without a body");
    const part before = *v->p;
    v->p->turn = v->p->around;
    FC_TRY(list(v, n->body));
    use(v, n->part);
    v->p->turn = before.turn;
    return FUSEC_OK;
}

/* Each role goes through the phases by itself, and has what it gets. */
static fusec_status role(verifier *v, const fc_loop *n) {
    const uint32_t finished = v->p->finished;
    if (!is_of_target(v, n->kind)) BAD("a loop of another target");
    if (v->in_role || v->in_code) BAD("a role inside of a loop");
    if (!n->body) BAD("a loop without a body");
    v->p->finished = 0;
    v->p->made = NOBODY;
    v->in_role = true;
    FC_TRY(list(v, n->body));
    use(v, n->part);
    v->p->finished = finished;
    v->p->made = NOBODY;
    v->in_role = v->in_code = false;
    return FUSEC_OK;
}

/* What stands in a turn alone: made in it, and gone with it. */
static void end_turn(verifier *v, const fc_loop *n) {
    for (size_t i = 0; i < v->l->buffer.len && n->kind == FC_LOOP_SERIAL; i++)
        if (is_of_turn(&v->l->buffer.at[i])) v->there &= ~bit_of(i);
}

static void enter_turn(verifier *v, const fc_loop *n) {
    for (uint32_t p = 0; p < v->parts; p++) {
        use(v, p);
        if (!is_over_reduced(v, n)) continue;
        v->p->around = v->p->turn;
        v->p->turn = n->step;
    }
    use(v, n->part);
    if (n->way == FC_LOOP_CARRY) v->p->carried = n->phase;
}

/* What a loop leaves for those inside: its range and that of one turn. */
static fusec_status inside(verifier *v, const fc_loop *n) {
    const bool stays = keeps_range(n) || is_lane(v, n);
    end_turn(v, n);
    const verifier before = *v;
    for (unsigned a = n->first; a < n->end; a++)
        if (!stays) v->range[a] = n->kind == FC_LOOP_VECTOR ? 1 : n->step;
    v->in_vector |= n->kind == FC_LOOP_VECTOR;
    v->in_rest |= n->way == FC_LOOP_REST || n->way == FC_LOOP_FAR;
    v->in_hidden |= n->way == FC_LOOP_HIDDEN;
    v->in_code |= !is_outside(n->kind);
    if (!stays) enter_turn(v, n);
    FC_TRY(list(v, n->body));
    end_turn(v, n);
    if (n->kind == FC_LOOP_SERIAL && (v->asked != before.asked || v->there != before.there))
        BAD("a turn that does not leave stage buffers as it found them");
    use(v, n->part);
    memcpy(v->range, before.range, sizeof v->range);
    v->in_vector = before.in_vector;
    v->in_code = before.in_code;
    v->in_rest = before.in_rest;
    v->in_hidden = before.in_hidden;
    for (uint32_t p = 0; p < v->parts; p++) {
        v->part[p].turn = before.part[p].turn;
        v->part[p].around = before.part[p].around;
        v->part[p].carried = before.part[p].carried;
    }
    return FUSEC_OK;
}

static fusec_status loop(verifier *v, const fc_loop *n) {
    const bool joins = fc_is_joining(n);
    if (n->kind == FC_LOOP_LAST) return last_turn(v, n);
    if (n->kind == FC_LOOP_ROLE) return role(v, n);
    FC_TRY(check_loop(v, n));
    if (joins) v->p->made = NOBODY;
    FC_TRY(inside(v, n));
    if (joins && v->p->made != n->phase) BAD("a loop that steps nothing of stage %u", n->phase);
    if (is_outside(n->kind) && n->next) BAD("something beside the loop over units");
    return FUSEC_OK;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

/* Of kept axes a thread has `vector` neighbours, whose accumulators lie side by side. */
static bool has_place(const verifier *v, unsigned first, unsigned end) {
    const bool kept = v->cls->target == FC_TARGET_CUDA && end <= v->cls->np;
    for (unsigned a = first; a < end; a++)
        if (range_of(v, a) == WHOLE_AXIS || range_of(v, a) > (kept ? v->cls->vector : 1))
            return false;
    return true;
}

/* A whole subtree of the order of ir/graph.h: a power of two of runs, a chunk, or a power of
 * two of elements that have a lane each. */
static bool is_subtree(const verifier *v, const fc_loop *n) {
    const uint32_t turn = v->p->turn;
    if (v->k->schedule == FC_SCHED_INNER)
        return turn == FC_CHUNK || turn == UINT32_C(1) << n->level;
    /* lanes of a transposed warp have runs side by side, which join first */
    const uint32_t run = (uint32_t)fc_run_of(v->k),
                   runs = v->cls->target == FC_TARGET_CUDA && turn % run == 0 ? turn / run : 1;
    return turn == runs * run && !(runs & (runs - 1)) && n->level == 0;
}

static fusec_status at_point(verifier *v) {
    if (!has_place(v, v->cls->np, (unsigned)v->cls->np + v->cls->nr))
        BAD("code of a point where no element is");
    return FUSEC_OK;
}

static fusec_status once_a_row(verifier *v) {
    if (v->cls->nr && range_of(v, v->cls->np) == 1) BAD("what is once a row, at each element");
    return FUSEC_OK;
}

static fusec_status needs(verifier *v, unsigned stage) {
    if (v->p->made != stage) BAD("accumulators of stage %u that nothing made", stage);
    return FUSEC_OK;
}

/* Whether all stages before a phase are finished. */
static fusec_status check_order(verifier *v, unsigned phase) {
    const uint32_t before = phase < v->k->nstages ? phase : v->k->nstages;
    const bool scan = v->k->schedule == FC_SCHED_SCAN && phase >= FC_PHASE_ELEMENTS;
    const uint32_t all = (UINT32_C(1) << before) - 1;
    if (phase < FC_PHASE_ELEMENTS && phase >= v->k->nstages) BAD("there is no stage %u", phase);
    const uint32_t missing = scan ? 0 : all & ~(v->p->finished | v->p->so_far);
    const bool once = goes_once(v) && phase == FC_PHASE_ELEMENTS;
    if (missing && !(once && (v->p->so_far || v->in_hidden)))
        BAD("a phase before the results that it needs");
    if (!v->in_hidden) v->p->owed |= missing;
    return FUSEC_OK;
}

/* Of accumulators of later stages, or of the product behind: in a turn, when the stage has taken
 * its elements; at the end, when it is finished. */
static fusec_status rescale(verifier *v, const fc_loop *n) {
    const uint32_t stage = UINT32_C(1) << n->phase;
    const bool behind = v->k->schedule == FC_SCHED_DOT && v->p > v->part;
    part *of = behind ? v->p - 1 : v->p;
    if (!goes_once(v)) BAD("results that change, in a walk that does not go once");
    if (of->finished & stage) {
        of->owed &= ~stage;
    } else if (!behind) {
        FC_TRY(needs(v, n->phase));
        of->so_far |= stage;
    } else if (!(of->so_far & stage)) {
        BAD("results of a stage that has none so far");
    }
    return FUSEC_OK;
}

static fusec_status store(verifier *v, const fc_loop *n) {
    if (!v->in_rest || passes_on(v)) v->p->stores[n->phase == FC_PHASE_ELEMENTS]++;
    if (n->phase < FC_PHASE_ELEMENTS) BAD("a store of stage %u", n->phase);
    FC_TRY(check_order(v, n->phase));
    for (size_t i = 0; i < v->l->buffer.len; i++)
        if (v->l->buffer.at[i].passed && v->p == &v->part[v->l->buffer.at[i].part])
            v->there |= bit_of(i);
    return n->phase == FC_PHASE_ELEMENTS ? at_point(v) : once_a_row(v);
}

static fusec_status push(verifier *v, const fc_loop *n) {
    if (!is_subtree(v, n)) BAD("a partial that is no part of the tree");
    return needs(v, n->phase);
}

static fusec_status fold(verifier *v, const fc_loop *n) {
    if (n->kind == FC_LEAF_PREFIX)
        v->p->prefixed |= UINT32_C(1) << n->phase;
    else
        v->p->made = n->phase;
    return once_a_row(v);
}

static fusec_status finish(verifier *v, const fc_loop *n) {
    FC_TRY(needs(v, n->phase));
    v->p->finished |= UINT32_C(1) << n->phase;
    return once_a_row(v);
}

/* Of a span, or of each chunk of it. */
static fusec_status put(verifier *v, const fc_loop *n) {
    v->p->put |= UINT32_C(1) << n->phase;
    return needs(v, n->phase);
}

/* A role that gets partials of a stage knows that those before it are finished. */
static fusec_status get(verifier *v, const fc_loop *n) {
    const uint32_t stage = UINT32_C(1) << n->phase;
    if (!(v->p->put & stage)) BAD("a partial that nobody put");
    if (v->in_role) v->p->finished |= stage - 1;
    v->p->made = n->phase;
    return once_a_row(v);
}

static fusec_status step(verifier *v, const fc_loop *n) {
    if (v->p->carried != NOBODY && v->p->carried != n->phase) BAD("a step of another stage");
    v->p->made = n->phase;
    return at_point(v);
}

/* From row to row of a run that all columns of a block go through. */
static bool is_across(const verifier *v) {
    return v->cls->target == FC_TARGET_LLVM && v->cls->llvm.across;
}

static fusec_status hold(verifier *v, const fc_loop *n) {
    const uint32_t stage = UINT32_C(1) << n->phase;
    if (!is_across(v)) BAD("accumulators are put by where none come back");
    if (n->kind == FC_LEAF_HOLD) {
        if (!(v->p->prefixed & stage)) BAD("a run without what is before it");
        v->p->held |= stage;
    } else if (!(v->p->held & stage)) {
        BAD("accumulators that nobody put by");
    } else {
        v->p->made = n->phase;
    }
    return FUSEC_OK;
}

static fusec_status scanned(verifier *v, const fc_loop *n) {
    if (!(v->p->prefixed & UINT32_C(1) << n->phase)) BAD("elements of a scan without a prefix");
    FC_TRY(needs(v, n->phase));
    return at_point(v);
}

/* A power of two of runs, in the blocks of one loop. */
static fusec_status scan(verifier *v) {
    const uint32_t run = (uint32_t)fc_run_of(v->k), blocks = v->p->turn / run;
    if (v->k->schedule != FC_SCHED_SCAN) BAD("prefixes of what is no scan");
    if (range_of(v, v->cls->np) != v->p->turn || v->p->turn % run || (blocks & (blocks - 1)) ||
        !blocks)
        BAD("a part of the row that is no subtree");
    v->p->stores[1]++;
    return FUSEC_OK;
}

static fusec_status leaf(verifier *v, const fc_loop *n) {
    v->in_code = true;
    if (n->body) BAD("a leaf with a body");
    if (fc_verify_moves(n->kind)) return fc_verify_move(v, n);
    const bool of_map = v->k->schedule == FC_SCHED_MAP && n->kind == FC_LEAF_ROW;
    const bool joined = v->cls->target == FC_TARGET_LLVM && v->cls->llvm.joined;
    const bool of_tile = in_tiles(v) && n->kind != FC_LEAF_ROW &&
                         (n->kind != FC_LEAF_STORE || is_bare(v)) && has_tile(v);
    if (!of_tile && !has_place(v, 0, v->cls->np - of_map - (of_map && joined)))
        BAD("code where no row is");
    const bool first = n->kind == FC_LEAF_START || n->kind == FC_LEAF_SCANNED ||
                       n->kind == FC_LEAF_RESCALE || (n->kind == FC_LEAF_GET && v->in_role);
    FC_TRY(check_order(v, first ? 0 : n->phase));
    switch (n->kind) {
    case FC_LEAF_ROW: return is_across(v) ? FUSEC_OK : once_a_row(v);
    case FC_LEAF_HOLD:
    case FC_LEAF_TAKE: return hold(v, n);
    case FC_LEAF_POINT: FC_TRY(fc_verify_reads(v)); return at_point(v);
    case FC_LEAF_STORE: return store(v, n);
    case FC_LEAF_STEP: return step(v, n);
    case FC_LEAF_SCANNED: return scanned(v, n);
    case FC_LEAF_SCAN: return scan(v);
    case FC_LEAF_PUSH: return push(v, n);
    case FC_LEAF_CLEAR: return FUSEC_OK;
    case FC_LEAF_JOIN: return needs(v, n->phase);
    case FC_LEAF_PUT: return put(v, n);
    case FC_LEAF_GET: return get(v, n);
    case FC_LEAF_FINISH: return finish(v, n);
    case FC_LEAF_RESCALE: return rescale(v, n);
    case FC_LEAF_LANES: FC_TRY(fc_verify_operands(v)); return fold(v, n);
    default: return fold(v, n); /* START, FOLD, PREFIX: accumulators from something else */
    }
}

static fusec_status node(verifier *v, const fc_loop *n) {
    if (n->part >= v->parts) BAD("there is no kernel %u", n->part);
    use(v, n->part);
    return fc_is_loop(n->kind) ? loop(v, n) : leaf(v, n);
}

/* A case and, if there is one, the other one. */
static fusec_status cases(verifier *v, const fc_loop *n, const fc_loop *other) {
    const uint32_t before = v->there;
    FC_TRY(node(v, n));
    const verifier after = *v;
    v->there = before;
    if (other) FC_TRY(node(v, other));
    if (other && v->part[n->part].made != after.part[n->part].made)
        BAD("cases that leave other accumulators");
    v->there &= after.there;
    return FUSEC_OK;
}

static fusec_status list(verifier *v, uint32_t at) {
    for (; at; at = v->l->node.at[at].next) {
        const fc_loop *n = &v->l->node.at[at], *next = &v->l->node.at[n->next];
        const bool two = n->next && next->kind == FC_LOOP_CASE && next->way == FC_LOOP_REST;
        FC_TRY(n->kind == FC_LOOP_CASE ? cases(v, n, two ? next : NULL) : node(v, n));
        if (n->kind == FC_LOOP_CASE && two) at = n->next;
    }
    return FUSEC_OK;
}

/* ---- the whole form -------------------------------------------------------------------------- */

static fusec_status check_stores(verifier *v) {
    const fc_kernel *k = v->k;
    bool any[2] = {false, k->updates.len > 0};
    for (size_t i = 0; i < k->stores.len; i++)
        any[k->schedule == FC_SCHED_MAP || k->accesses.at[k->stores.at[i].access].level] = true;
    for (unsigned i = 0; i < 2; i++)
        if (passes_on(v) ? (v->p->stores[i] != 0) != any[i] : v->p->stores[i] != any[i])
            BAD("%s are stored %u times", i ? "elements" : "results", v->p->stores[i]);
    if (v->p->owed) BAD("elements that wait for a stage");
    return FUSEC_OK;
}

fusec_status fc_loops_verify_parts(const fc_loops *l, const fc_kernel *const *k,
                                   const fc_class *cls, uint32_t n, fc_error *e) {
    verifier all = {.l = l, .parts = n, .e = e}, *v = &all;
    for (uint32_t p = 0; p < n; p++) v->part[p] = (part){.k = k[p], .cls = &cls[p]};
    for (unsigned i = 0; i < FC_LOOP_FUNCTIONS; i++) {
        memset(v->range, 0, sizeof v->range);
        v->in_vector = v->in_code = false;
        for (uint32_t p = 0; p < n; p++) {
            v->part[p].made = v->part[p].carried = NOBODY;
            v->part[p].turn = v->part[p].around = 0;
        }
        FC_TRY(list(v, l->function[i]));
    }
    for (uint32_t p = 0; p < n; p++) {
        use(v, p);
        FC_TRY(check_stores(v));
    }
    return fc_verify_buffers(v);
}

fusec_status fc_loops_verify(const fc_loops *l, const fc_kernel *k, const fc_class *cls,
                             fc_error *e) {
    return fc_loops_verify_parts(l, &k, cls, 1, e);
}
