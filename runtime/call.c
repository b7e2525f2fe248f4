/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* call.c - see call.h. */
#include "runtime/call.h"

/* ---- functions of a context ------------------------------------------------------------------ */

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

static bool same(const fc_user_call *a, const fc_user_call *b) {
    return a->host == b->host && a->cuda == b->cuda && a->user == b->user &&
           a->launch == b->launch && a->by_threads == b->by_threads && a->nout == b->nout &&
           same_text(a->name, b->name) && same_text(a->text, b->text) &&
           same_text(a->entry, b->entry);
}

static void free_call(const fc_alloc *a, fc_user_call *x) {
    if (!x) return;
    fc_call_codes_free(a, x->code);
    fc_free(a, x->name);
    fc_free(a, x->text);
    fc_free(a, x->entry);
    fc_free(a, x);
}

static fc_user_call *copy_call(const fc_alloc *a, const fc_user_call *like) {
    fc_user_call *x = fc_calloc(a, 1, sizeof *x);
    if (!x) return NULL;
    *x = *like;
    x->code = NULL;
    x->name = fc_strdup(a, like->name);
    x->text = like->text ? fc_strdup(a, like->text) : NULL;
    x->entry = like->entry ? fc_strdup(a, like->entry) : NULL;
    if (x->name && !x->text == !like->text && !x->entry == !like->entry) return x;
    free_call(a, x);
    return NULL;
}

fusec_status fc_user_call_number(fc_context *c, const fc_user_call *like, uint32_t *number,
                                 fc_error *e) {
    const fc_alloc *a = &c->config.alloc;
    pthread_mutex_lock(&c->lock);
    size_t i = 0;
    while (i < c->calls.len && !same(c->calls.at[i], like)) i++;
    fc_user_call *x = i < c->calls.len ? c->calls.at[i] : copy_call(a, like);
    bool ok = x != NULL;
    if (ok && i == c->calls.len) ok = fc_push(a, &c->calls, x);
    if (!ok) free_call(a, x);
    pthread_mutex_unlock(&c->lock);
    *number = (uint32_t)i;
    return ok ? FUSEC_OK : fc_oom(e);
}

fc_user_call *fc_user_call_at(fc_context *c, uint64_t number) {
    pthread_mutex_lock(&c->lock);
    fc_user_call *x = number < c->calls.len ? c->calls.at[number] : NULL;
    pthread_mutex_unlock(&c->lock);
    return x;
}

void fc_user_calls_free(fc_context *c) {
    for (size_t i = 0; i < c->calls.len; i++) free_call(&c->config.alloc, c->calls.at[i]);
    fc_vec_free(&c->config.alloc, &c->calls);
}

/* ---- for one set of sizes -------------------------------------------------------------------- */

/* Shared by all calls with these sizes: they copy the tensors and put addresses in. */
struct fc_call_bound {
    fc_user_call *call;
    void *code; /* of its text */
    uint32_t nin, nout;
    fusec_tensor *tensors; /* inputs, then outputs */
    int64_t sizes[FC_CALL_SIZES];
};

static bool describe(const fc_program *p, fc_bound *b, fc_node n, fusec_tensor *t) {
    const fc_graph *g = &p->plan->graph;
    const uint32_t rank = fc_rank(g, n);
    int64_t *shape = fc_arena_alloc(&b->arena, (rank + 1) * sizeof *shape);
    if (!shape) return false;
    for (uint32_t i = 0; i < rank; i++) shape[i] = b->values[fc_axis(g, n, i)];
    *t = (fusec_tensor){
        .shape = shape, .rank = (int32_t)rank, .dtype = fc_at(g, n)->dtype, .place = FUSEC_DEVICE};
    return true;
}

/* The node of a result that is read. */
static fc_node result_node(const fc_program *p, const fc_step *s, uint32_t number) {
    for (fc_node n = s->node; n < p->plan->graph.nodes.len; n++) {
        const fc_ninfo *i = fc_at(&p->plan->graph, n);
        if (i->op == FC_OP_RESULT && i->src[0] == s->node && i->attr == number) return n;
    }
    return FC_NONODE;
}

static fusec_status check_target(const fc_program *p, const fc_user_call *u, fc_error *e) {
    const bool gpu = p->device->kind == FC_DEV_CUDA;
    if (gpu ? u->cuda || u->text : u->host != NULL) return FUSEC_OK;
    return fc_fail(e, FUSEC_CALL_FAILED, "%.100s has no function for %s", u->name,
                   gpu ? "CUDA" : "the CPU");
}

fusec_status fc_call_bind(fc_program *p, fc_bound *b, uint32_t step, fc_error *e) {
    const fc_step *s = p->plan->steps.at[step];
    const fc_graph *g = &p->plan->graph;
    struct fc_call_bound *x = fc_arena_alloc(&b->arena, sizeof *x);
    if (!x) return fc_oom(e);
    x->call = fc_user_call_at(p->ctx, fc_at(g, s->node)->attr);
    if (!x->call || s->nin < FC_CALL_SIZES)
        return fc_fail(e, FUSEC_INTERNAL, "a call of a function that is not known");
    FC_TRY(check_target(p, x->call, e));
    x->nin = s->nin - FC_CALL_SIZES;
    x->nout = x->call->nout;
    x->tensors = fc_arena_alloc(&b->arena, (x->nin + x->nout + 1) * sizeof *x->tensors);
    if (!x->tensors) return fc_oom(e);
    for (uint32_t i = 0; i < x->nin; i++)
        if (!describe(p, b, s->in[i].node, &x->tensors[i])) return fc_oom(e);
    for (uint32_t i = 0; i < x->nout; i++) {
        const fc_node n = result_node(p, s, i);
        if (n != FC_NONODE && !describe(p, b, n, &x->tensors[x->nin + i])) return fc_oom(e);
    }
    for (uint32_t i = 0; i < FC_CALL_SIZES; i++) {
        const fc_ninfo *n = fc_at(g, s->in[x->nin + i].node);
        x->sizes[i] = n->op == FC_OP_DIM ? b->values[n->attr] : (int64_t)n->attr;
        if (x->sizes[i] < 0)
            return fc_fail(e, FUSEC_INPUT_SHAPE, "%.100s asks for a size below zero: %lld",
                           x->call->name, (long long)x->sizes[i]);
    }
    if (p->device->kind == FC_DEV_CUDA && !x->call->cuda)
        FC_TRY(fc_call_code_get(p->ctx, p->device, x->call, &x->code, e));
    b->steps[step].launch.workspace_bytes = (size_t)x->sizes[FC_CALL_WORKSPACE];
    b->steps[step].call = x;
    return FUSEC_OK;
}

/* ---- calling --------------------------------------------------------------------------------- */

enum { FEW = 16 };

/* Scalars that the host knows are handed over in host memory. */
static fusec_status place_inputs(const fc_step_call *c, const struct fc_call_bound *x,
                                 fusec_tensor *t, uint64_t *bits, fc_error *e) {
    const fc_step *s = c->p->plan->steps.at[c->step];
    for (uint32_t i = 0; i < x->nin; i++) {
        const bool by_value = x->code && t[i].rank == 0; /* is waited for if a kernel makes it */
        if (s->in[i].buffer != FC_ON_HOST && !by_value) {
            t[i].data = c->at[s->in[i].buffer];
            continue;
        }
        FC_TRY(fc_step_scalar(c, i, &bits[i], e));
        t[i].data = &bits[i];
        t[i].place = FUSEC_HOST;
    }
    return FUSEC_OK;
}

/* Others do not know the device's own stream as NULL. */
static void *stream_of(const fc_step_call *c) {
    fc_device *d = c->p->device;
    return c->stream || !d->hooks->streams ? c->stream : d->hooks->streams->own(d);
}

static fusec_status call_with(const fc_step_call *c, const struct fc_call_bound *x, fusec_tensor *t,
                              uint64_t *bits, fc_error *e) {
    const fc_step *s = c->p->plan->steps.at[c->step];
    char message[200] = "";
    memcpy(t, x->tensors, (x->nin + x->nout) * sizeof *t);
    FC_TRY(place_inputs(c, x, t, bits, e));
    for (uint32_t i = s->nout; i-- > 0;) /* the first of a number is where it is made */
        t[x->nin + s->out[i].number].data = c->at[s->out[i].buffer];
    fusec_call_args a = {.size = sizeof a,
                         .stream = stream_of(c),
                         .ninputs = (int)x->nin,
                         .inputs = t,
                         .noutputs = (int)x->nout,
                         .outputs = t + x->nin,
                         .workspace = c->workspace,
                         .workspace_bytes = (size_t)x->sizes[FC_CALL_WORKSPACE],
                         .message = message,
                         .message_room = sizeof message};
    if (x->code) return fc_call_launch(c, x->call, x->code, x->sizes, &a, e);
    const bool gpu = c->p->device->kind == FC_DEV_CUDA;
    const int code = (gpu ? x->call->cuda : x->call->host)(x->call->user, &a);
    message[sizeof message - 1] = 0;
    if (!code) return FUSEC_OK;
    return fc_fail(e, FUSEC_CALL_FAILED, "%.100s gave %d%s%s", x->call->name, code,
                   *message ? ": " : "", message);
}

fusec_status fc_call_run(const fc_step_call *c, fc_error *e) {
    const struct fc_call_bound *x = c->b->steps[c->step].call;
    const uint32_t n = x->nin + x->nout;
    fusec_tensor few[FEW], *t = few;
    uint64_t few_bits[FEW], *bits = few_bits;
    void *memory = NULL;
    if (n > FEW) {
        memory = fc_malloc(c->p->alloc, n * (sizeof *t + sizeof *bits));
        if (!memory) return fc_oom(e);
        t = memory;
        bits = (uint64_t *)(void *)(t + n);
    }
    const fusec_status s = call_with(c, x, t, bits, e);
    fc_free(c->p->alloc, memory);
    return s;
}
