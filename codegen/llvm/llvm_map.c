/* llvm_map.c - maps: vectors along the innermost axis.
 *
 * One axis: a unit is an element. Several: a unit is a block of at most FC_PB_SPAN elements of a
 * row, and FC_PB_SPANS blocks make a row; units count through the blocks of row 0, then of row 1,
 * and so on. Whatever does not change along the innermost axis is computed once a block. */
#include "codegen/llvm/llvm_text.h"

static void points(fc_ll *f, void *user) {
    (void)user;
    fc_ll_forget_points(f);
    fc_ll_emit_points(f, f->point_needed);
    fc_ll_run_stores(f, FC_POINT, f->V);
}

static void part_of_row(fc_ll *f, const char *from, const char *to) {
    fc_ll_forget(f);
    fc_ll_emit_rows(f, f->point_needed);
    fc_ll_points(f, from, to, fc_ll_is_light(f->k) ? 4 : 1, points, NULL);
}

/* Whether a result is at the end of a chain of more instructions than a processor sees the end of
 * while it has two vectors at hand. Numbers of 64 bits take twice as many registers, and functions
 * that are called have chains of their own. */
static bool is_deep(fc_ll *f) {
    enum { DEEP = 25 };
    const fc_code *c = &f->code;
    if (f->functions) return false;
    unsigned *depth = fc_ll_alloc(f, c->ins.len * sizeof *depth), most = 0;
    for (fc_val i = 0; i < c->ins.len; i++) {
        const fc_instr *ins = &c->ins.at[i];
        if (!f->point_needed[i] || f->at_row[i] || f->uniform[i]) continue;
        if (fc_dtypes[ins->dtype].bytes > 4) return false;
        for (int n = 0; n < fc_instr_arity(ins); n++) {
            const unsigned before = depth[fc_instr_operand(ins, n)];
            if (before + fc_ll_length(f, i) > depth[i]) depth[i] = before + fc_ll_length(f, i);
        }
        if (depth[i] > most) most = depth[i];
    }
    return most >= DEEP;
}

void fc_ll_map(fc_ll *f) {
    enum { FOUR_REGISTERS = 64 };          /* lanes */
    const unsigned rows = f->cls->np - 1u; /* axes outside the lanes */
    if (f->cls->llvm.tiles) {
        fc_ll_tiles(f);
        return;
    }
    f->lane_axis = rows;
    if (f->V == FOUR_REGISTERS && !is_deep(f)) f->V /= 2;
    fc_ll_begin(f);
    if (rows == 0) {
        fc_ll_set_base(f, NULL, 0);
        part_of_row(f, "%begin", "%end");
        fc_ll_end_stream(f);
        fc_ll_end(f, "");
        return;
    }
    fc_ll_loop l;
    const char *idx[FC_MAX_AXES], *parts = fc_ll_extra(f, FC_PB_SPANS),
                                  *size = fc_ll_extra(f, FC_PB_SPAN);
    const char *unit = fc_ll_for(f, &l, "%begin", "%end");
    const char *row = fc_ll_bin(f, "udiv", unit, parts);
    const char *part = fc_ll_bin(f, "sub", unit, fc_ll_bin(f, "mul", row, parts));
    const char *from = fc_ll_bin(f, "mul", part, size);
    const char *to = fc_ll_min(f, fc_ll_bin(f, "add", from, size), fc_ll_extent(f, rows));
    fc_ll_decompose(f, row, 0, rows, idx);
    fc_ll_set_base(f, idx, rows);
    part_of_row(f, from, to);
    fc_ll_for_end(f, &l, "1");
    fc_ll_end_stream(f);
    fc_ll_end(f, "");
}
