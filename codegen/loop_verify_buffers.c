/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* loop_verify_buffers.c - stage buffers of a loop form, and what kernels of one launch pass on in
 * them (loop_verify.c): whether each lies as it says, is moved by somebody, and is there when it is
 * read. */
#include "codegen/loop_verify.h"

unsigned fc_verify_axes(const verifier *v) {
    unsigned n = 0;
    for (uint32_t p = 0; p < v->parts; p++) {
        const fc_class *cls = v->part[p].cls;
        for (unsigned a = 0; a < (unsigned)cls->np + cls->nr; a++) {
            const unsigned of = v->l->axis ? v->l->axis[p][a] : a;
            if (of >= n) n = of + 1;
        }
    }
    return n;
}

fusec_status fc_verify_reads(verifier *v) {
    for (size_t i = 0; i < v->l->buffer.len; i++) {
        const fc_stage_buffer *b = &v->l->buffer.at[i];
        const unsigned reader = b->part + (b->passed ? 1u : 0u);
        if (v->in_hidden && b->passed) continue;
        if ((b->copied || b->passed) && v->p == &v->part[reader] && !(v->there & bit_of(i)))
            BAD("code that reads stage buffer %u before it is filled", b->set);
    }
    return FUSEC_OK;
}

fusec_status fc_verify_operands(verifier *v) {
    for (size_t i = 0; i < v->l->buffer.len; i++)
        if (is_made(&v->l->buffer.at[i]) && v->p == &v->part[v->l->buffer.at[i].part] &&
            !(v->there & bit_of(i)))
            BAD("products of operand %u before it is made", v->l->buffer.at[i].access);
    return FUSEC_OK;
}

/* The whole axis, if it has no more. */
static bool is_all_of_k(const verifier *v, const fc_stage_buffer *b) {
    const fc_cuda_class *cuda = &v->part[0].cls->cuda;
    return v->cls->target == FC_TARGET_CUDA && cuda->kind == FC_CUDA_FLASH && !b->part &&
           b->elements >= cuda->flash_deep * 16u;
}

static fusec_status move_one(verifier *v, const fc_loop *n, const fc_stage_buffer *b,
                             uint32_t bit) {
    const bool awaited = n->kind == FC_LEAF_AWAIT;
    if (b->packed && v->range[b->along] != b->elements && !is_made(b) && !is_all_of_k(v, b))
        BAD("a panel of another size");
    if (is_made(b)) {
        FC_TRY(fc_verify_reads(v));
        v->there |= bit;
    }
    if (n->kind == FC_LEAF_SHIFT) {
        if (!b->passed || !(v->there & bit)) BAD("nothing in stage buffer %u moves on", b->set);
        if (b->elements != v->range[b->along] + b->around) BAD("a stage buffer of another size");
        v->there &= ~bit;
    } else if (awaited && !(v->asked & bit)) {
        BAD("nobody asked for stage buffer %u", b->set);
    } else if (b->copied) {
        v->asked = awaited ? v->asked & ~bit : v->asked | bit;
        v->there = awaited ? v->there | bit : v->there & ~bit;
    }
    return FUSEC_OK;
}

static bool is_of(const fc_stage_buffer *b, const fc_loop *n) {
    return b->set == n->phase && b->part == n->part;
}

fusec_status fc_verify_move(verifier *v, const fc_loop *n) {
    bool any = false;
    for (size_t i = 0; i < v->l->buffer.len; i++) {
        if (!is_of(&v->l->buffer.at[i], n)) continue;
        FC_TRY(move_one(v, n, &v->l->buffer.at[i], bit_of(i)));
        any = true;
    }
    if (!any) BAD("there is no stage buffer %u", n->phase);
    return FUSEC_OK;
}

bool fc_verify_moves(unsigned kind) {
    return kind == FC_LEAF_FILL || kind == FC_LEAF_FLUSH || kind == FC_LEAF_AWAIT ||
           kind == FC_LEAF_SHIFT;
}

static bool has_leaf(const fc_loops *l, const fc_stage_buffer *b) {
    for (size_t i = 1; i < l->node.len; i++)
        if (fc_verify_moves(l->node.at[i].kind) && is_of(b, &l->node.at[i])) return true;
    return false;
}

fusec_status fc_verify_buffers(verifier *v) {
    for (size_t i = 0; i < v->l->buffer.len; i++) {
        const fc_stage_buffer *b = &v->l->buffer.at[i];
        if (b->part + (b->passed ? 1u : 0u) >= v->parts) BAD("a stage buffer of no kernel");
        use(v, b->part);
        if (b->access >= v->cls->naccess || b->along >= fc_verify_axes(v))
            BAD("a stage buffer of no access");
        if (b->transposed && fc_class_move(v->cls, b->access, b->along) != FC_MOVE_ONE)
            BAD("access %u does not lie along axis %u", (unsigned)b->access, b->along);
        if (!is_of_turn(b) && !has_leaf(v->l, b)) BAD("nobody moves stage buffer %u", b->set);
    }
    return FUSEC_OK;
}
