/* index_map.c - see index_map.h. */
#include "passes/index_map.h"
#include "ir/plant.h"

static bool dim_is_one(const fc_graph *g, fc_dim d) {
    int64_t v;
    return fc_dim_is_const(&g->dims, d, &v) && v == 1;
}

static void set(int64_t *m, uint32_t i, int64_t axis, int64_t step, fc_dim start) {
    m[3 * i] = axis;
    m[3 * i + 1] = step;
    m[3 * i + 2] = start;
}

static fc_list finish(fc_graph *g, const int64_t *m, uint32_t rank) {
    fc_list l = fc_intern_list(g, m, 3 * rank);
    if (g->dims.oom) fc_oom(&g->error); /* a start that could not be made */
    return g->error.code ? FC_NOMAP : l;
}

fc_list fc_map_identity(fc_graph *g, fc_list shape) {
    int64_t m[3 * FC_MAX_RANK];
    fc_dim zero = fc_dim_const(&g->dims, 0);
    uint32_t rank = fc_list_len(g, shape);
    for (uint32_t i = 0; i < rank; i++) {
        bool one = dim_is_one(g, (fc_dim)fc_list_at(g, shape)[i]);
        set(m, i, one ? -1 : (int64_t)i, one ? 0 : 1, zero);
    }
    return finish(g, m, rank);
}

fc_list fc_map_match(fc_graph *g, fc_list shape, fc_list domain, uint64_t mask) {
    int64_t m[3 * FC_MAX_RANK];
    fc_dim zero = fc_dim_const(&g->dims, 0);
    uint32_t rank = fc_list_len(g, shape), drank = fc_list_len(g, domain), d = 0;
    for (uint32_t i = 0; i < rank; i++) {
        fc_dim size = (fc_dim)fc_list_at(g, shape)[i];
        if (dim_is_one(g, size)) {
            set(m, i, -1, 0, zero);
            continue;
        }
        while (d < drank && (!(mask >> d & 1) || dim_is_one(g, (fc_dim)fc_list_at(g, domain)[d])))
            d++;
        if (d == drank || (fc_dim)fc_list_at(g, domain)[d] != size) return FC_NOMAP;
        set(m, i, d++, 1, zero);
    }
    for (; d < drank; d++) /* every axis that takes part must have been used */
        if ((mask >> d & 1) && !dim_is_one(g, (fc_dim)fc_list_at(g, domain)[d])) return FC_NOMAP;
    return finish(g, m, rank);
}

/* The operand axis of each result axis that is not of literal size 1, or false. */
static bool reshape_axes(fc_graph *g, fc_node n, int32_t *operand_to_result) {
    fc_node a = fc_at(g, n)->src[0];
    uint32_t ra = fc_rank(g, a), rn = fc_rank(g, n), j = 0;
    for (uint32_t i = 0; i < ra; i++) {
        operand_to_result[i] = -1;
        if (fc_axis_is_one(g, a, i)) continue;
        while (j < rn && fc_axis_is_one(g, n, j)) j++;
        if (j == rn || fc_axis(g, n, j) != fc_axis(g, a, i)) return false;
        operand_to_result[i] = (int32_t)j++;
    }
    for (; j < rn; j++)
        if (!fc_axis_is_one(g, n, j)) return false;
    return true;
}

bool fc_reshape_is_free(fc_graph *g, fc_node n) {
    int32_t axes[FC_MAX_RANK];
    return reshape_axes(g, n, axes);
}

fc_list fc_map_view(fc_graph *g, fc_node n, fc_list map) {
    const fc_ninfo *v = fc_at(g, n);
    fc_node a = v->src[0];
    uint32_t ra = fc_rank(g, a), rn = fc_rank(g, n);
    int64_t in[3 * FC_MAX_RANK], m[3 * FC_MAX_RANK];
    int32_t axes[FC_MAX_RANK];
    fc_dim zero = fc_dim_const(&g->dims, 0);
    if (map == FC_NOMAP) return FC_NOMAP;
    if (rn) memcpy(in, fc_list_at(g, map), 3 * rn * sizeof *in);
    switch (v->op) {
    case FC_OP_BROADCAST:
        for (uint32_t i = 0; i < ra; i++) {
            if (fc_axis_is_one(g, a, i))
                set(m, i, -1, 0, zero);
            else
                memcpy(m + 3 * i, in + 3 * FC_PLANT(broadcast_axis, i, rn - ra + i), 3 * sizeof *m);
        }
        break;
    case FC_OP_PERMUTE:
        for (uint32_t i = 0; i < rn; i++) {
            int64_t axis = fc_list_at(g, (fc_list)v->attr)[i];
            int64_t to = FC_PLANT(permute_inverse, i, axis);
            memcpy(m + 3 * to, in + 3 * (to == axis ? i : axis), 3 * sizeof *m);
        }
        break;
    case FC_OP_SLICE:
        for (uint32_t i = 0; i < rn; i++) {
            const int64_t *s = fc_list_at(g, (fc_list)fc_at(g, n)->attr) + 3 * i;
            fc_dim start = (fc_dim)s[0];
            int64_t step = s[1], k;
            if (!fc_mul_ok(step, in[3 * i + 1], &k)) return FC_NOMAP;
            if (FC_PLANTED(slice_step)) k = step;
            fc_dim moved =
                fc_dim_mul(&g->dims, (fc_dim)in[3 * i + 2], fc_dim_const(&g->dims, step));
            if (!FC_PLANTED(slice_start)) start = fc_dim_add(&g->dims, start, moved);
            if (start == FC_DIM_NONE) return FC_NOMAP;
            set(m, i, in[3 * i], k, start);
        }
        break;
    default: /* FC_OP_RESHAPE */
        if (!reshape_axes(g, n, axes)) return FC_NOMAP;
        for (uint32_t i = 0; i < ra; i++) {
            if (axes[i] < 0)
                set(m, i, -1, 0, zero);
            else
                memcpy(m + 3 * i, in + 3 * axes[i], 3 * sizeof *m);
        }
    }
    return finish(g, m, ra);
}
