/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm_couples.c - parts of pairs that lie side by side along the lanes.
 *
 * In: whole vectors of one part of an array of pairs (c128: of two f64), in a class with `couples`:
 * pairs follow each other along the lanes. Out: V pairs as one vector of 2V, of which a load takes
 * every second lane, so that the loads of both parts are one for the compiler; a store of one part
 * waits for that of the other. */
#include "codegen/llvm/llvm_text.h"

bool fc_ll_is_couple(const fc_ll *f, uint32_t a) {
    return f->cls->llvm.couples && f->k->accesses.at[a].pair && !f->fixed && !f->coord &&
           fc_class_move(f->cls, a, f->lane_axis) == FC_MOVE_ANY;
}

static const char *type_of(fc_ll *f, uint32_t a, unsigned n) {
    return fc_ll_stored(f, f->k->accesses.at[a].dtype, n);
}

/* Where the first one of the pairs is. */
static const char *pairs_at(fc_ll *f, uint32_t a) {
    const uint32_t start = f->k->accesses.at[a].pair == 1 ? a : fc_kernel_other_part(f->k, a);
    if (start != UINT32_MAX) return fc_ll_element(f, start, fc_ll_first_element(f, start));
    return fc_ll_element(f, a, fc_ll_bin(f, "sub", fc_ll_first_element(f, a), "1"));
}

const char *fc_ll_load_couple(fc_ll *f, uint32_t a) {
    const fc_access *acc = &f->k->accesses.at[a];
    const char *both = fc_ll_read(f, acc->dtype, 2 * f->V, pairs_at(f, a), false, NULL);
    const char *type = type_of(f, a, 2 * f->V);
    return fc_ll_pick(f, type, both, NULL, f->V, acc->pair - 1u, 2, 2 * f->V);
}

bool fc_ll_first_of_couple(fc_ll *f, uint32_t a, const char *stored, uint32_t *other) {
    *other = fc_kernel_other_part(f->k, a);
    if (*other == UINT32_MAX || !fc_is_stored(f->k, *other)) return false;
    if (!f->waits) f->waits = fc_ll_names(f, f->cls->naccess);
    if (f->waits[*other]) return false;
    f->waits[a] = stored;
    return true;
}

/* A vector that fills its lines passes by the cache where the class says so. */
void fc_ll_store_couple(fc_ll *f, uint32_t a, const char *const part[2]) {
    const unsigned n = 2 * f->V, bytes = fc_dtypes[f->k->accesses.at[a].dtype].bytes;
    const unsigned line = n * bytes < 64 ? n * bytes : 64;
    const char *half = type_of(f, a, f->V), *type = type_of(f, a, n), *at = pairs_at(f, a);
    unsigned *in_turn = fc_ll_alloc(f, n * sizeof *in_turn);
    for (unsigned i = 0; i < n; i++) in_turn[i] = i % 2 * f->V + i / 2;
    const char *both = fc_ll_shuffle(f, half, part[0], part[1], n, in_turn);
    if (!f->cls->llvm.stream) {
        fc_ll_line(f, "store %s %s, ptr %s, align %u", type, both, at, bytes);
        return;
    }
    fc_ll_if fills;
    const char *rest =
        fc_ll_bin(f, "and", fc_ll_ins(f, "ptrtoint ptr %s to i64", at), fc_ll_number(f, line - 1));
    fc_ll_if_begin(f, &fills, fc_ll_ins(f, "icmp eq i64 %s, 0", rest));
    fc_ll_line(f, "store %s %s, ptr %s, align %u, !nontemporal !0", type, both, at, line);
    fc_ll_if_else(f, &fills);
    fc_ll_line(f, "store %s %s, ptr %s, align %u", type, both, at, bytes);
    fc_ll_if_end(f, &fills);
}
