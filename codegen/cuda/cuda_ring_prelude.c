/* cuda_ring_prelude.c - the functions that the text of cuda_ring.c uses: gates and bulk copies,
 * which a host has functions of its own for and pieces of rows. */
#include "codegen/cuda/cuda.h"

/* A gate opens when all have joined it and the bytes that are expected have come; whoever passes it
 * says whether it has opened an odd number of times before. */
static const char instructions[] =
    "#ifndef FC_EMULATE\n"
    "FC_INLINE unsigned int fc_shared(const void *p) {\n"
    "    return (unsigned int)__cvta_generic_to_shared(p);\n"
    "}\n"
    "FC_INLINE void fc_gate_make(unsigned long long *gate, unsigned int n) {\n"
    "    asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" ::\"r\"(fc_shared(gate)), "
    "\"r\"(n) : \"memory\");\n"
    "}\n"
    "FC_INLINE void fc_gates_made() {\n"
    "    asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
    "}\n"
    "FC_INLINE void fc_gate_join(unsigned long long *gate) {\n"
    "    asm volatile(\"mbarrier.arrive.shared::cta.b64 _, [%0];\" ::\"r\"(fc_shared(gate)) : "
    "\"memory\");\n"
    "}\n"
    "FC_INLINE void fc_gate_expect(unsigned long long *gate, unsigned int bytes) {\n"
    "    asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" "
    "::\"r\"(fc_shared(gate)), \"r\"(bytes) : \"memory\");\n"
    "}\n"
    "FC_INLINE void fc_gate_pass(unsigned long long *gate, unsigned int odd) {\n"
    "    unsigned int passed;\n"
    "    do asm volatile(\"{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
    "selp.u32 %0, 1, 0, p;}\" : \"=r\"(passed) : \"r\"(fc_shared(gate)), \"r\"(odd) : "
    "\"memory\");\n"
    "    while (!passed);\n"
    "}\n"
    "/* stores by ordinary instructions come before bulk copies of the same place */\n"
    "FC_INLINE void fc_kept() { asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\"); "
    "}\n"
    "FC_INLINE void fc_send(void *to, const void *from, unsigned int bytes) {\n"
    "    asm volatile(\"cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\" ::\"l\"(to), "
    "\"r\"(fc_shared(from)), \"r\"(bytes) : \"memory\");\n"
    "}\n"
    "FC_INLINE void fc_sent() {\n"
    "    asm volatile(\"cp.async.bulk.commit_group;\" ::: \"memory\");\n"
    "    asm volatile(\"cp.async.bulk.wait_group.read 0;\" ::: \"memory\");\n"
    "}\n"
    "FC_INLINE void fc_group(int number, int threads) {\n"
    "    asm volatile(\"bar.sync %0, %1;\" ::\"r\"(number), \"r\"(threads) : \"memory\");\n"
    "}\n"
    "#endif\n";

static const char fetch[] =
    "#ifndef FC_EMULATE\n"
    "FC_INLINE void fc_fetch(void *to, const void *from, unsigned int bytes, unsigned long long "
    "*gate) {\n"
    "    asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
    "[%1], %2, [%3];\" ::\"r\"(fc_shared(to)), \"l\"(from), \"r\"(bytes), \"r\"(fc_shared(gate)) "
    ": \"memory\");\n"
    "}\n"
    "#endif\n";

/* The same whose lines leave the L2 after those of results (cuda_load.c). */
static const char fetch_last[] =
    "#ifndef FC_EMULATE\n"
    "FC_INLINE void fc_fetch(void *to, const void *from, unsigned int bytes, unsigned long long "
    "*gate) {\n" FC_CUDA_WISH_LAST
    "    asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    ".L2::cache_hint [%0], [%1], %2, [%3], %4;\" ::\"r\"(fc_shared(to)), \"l\"(from), "
    "\"r\"(bytes), \"r\"(fc_shared(gate)), \"l\"(wish) : \"memory\");\n"
    "}\n"
    "#endif\n";

/* Bulk copies are of whole lines; what is before and after them the lanes of a warp read or write.
 * Requests of 4 KiB by neighbouring lanes are as fast as one for all. */
static const char pieces[] =
    "FC_INLINE unsigned int fc_shift(const void *p) {\n"
    "    return (unsigned int)(unsigned long long)p & 127;\n"
    "}\n"
    "/* bytes up to the first line, of whole lines, after them */\n"
    "struct fc_piece { unsigned int head, middle, tail; };\n"
    "FC_INLINE fc_piece fc_piece_of(const void *p, unsigned int bytes) {\n"
    "    fc_piece e;\n"
    "    e.head = -fc_shift(p) & 127;\n"
    "    if (e.head > bytes) e.head = bytes;\n"
    "    e.middle = (bytes - e.head) & ~127u;\n"
    "    e.tail = bytes - e.head - e.middle;\n"
    "    return e;\n"
    "}\n"
    "template <typename T>\n"
    "FC_INLINE void fc_edges(T *to, const T *from, const fc_piece &e, int lane) {\n"
    "    const unsigned int size = (unsigned int)sizeof(T), after = (e.head + e.middle) / size;\n"
    "#pragma unroll\n"
    "    for (unsigned int n = 0; n < 128 / size; n += 32) {\n"
    "        const unsigned int k = n + lane;\n"
    "        if (k < e.head / size) to[k] = from[k];\n"
    "        if (k < e.tail / size) to[after + k] = from[after + k];\n"
    "    }\n"
    "}\n"
    "/* by all lanes of a warp, which join at the gate afterwards */\n"
    "template <typename T>\n"
    "FC_INLINE void fc_bring(T *to, const T *from, const fc_piece &e, int lane, unsigned long long "
    "*gate) {\n"
    "    for (unsigned int at = lane * 4096; at < e.middle; at += 32 * 4096)\n"
    "        fc_fetch((char *)to + e.head + at, (const char *)from + e.head + at,\n"
    "                 e.middle - at < 4096 ? e.middle - at : 4096, gate);\n"
    "    fc_edges(to, from, e, lane);\n"
    "}\n"
    "/* what the lanes of a warp left at `from`; lane 0 has fc_sent to call */\n"
    "template <typename T> FC_INLINE void fc_take(T *to, const T *from, int n, int lane) {\n"
    "    fc_kept();\n"
    "    __syncwarp();\n"
    "    if (((fc_shift(to) ^ fc_shift(from)) & 15) == 0) {\n"
    "        const fc_piece e = fc_piece_of(to, n * (unsigned int)sizeof(T));\n"
    "        if (lane == 0 && e.middle) fc_send((char *)to + e.head, (const char *)from + e.head, "
    "e.middle);\n"
    "        fc_edges(to, from, e, lane);\n"
    "    } else {\n"
    "#pragma unroll 1\n"
    "        for (int i = lane; i < n; i += 32) to[i] = from[i];\n"
    "    }\n"
    "}\n";

/* Where all that leaves is whole lines, as rows of most rings are. */
static const char lines[] =
    "template <typename T> FC_INLINE void fc_take_lines(T *to, const T *from, int n, int lane) {\n"
    "    const unsigned int bytes = n * (unsigned int)sizeof(T);\n"
    "    if ((fc_shift(to) | fc_shift(from) | (bytes & 127)) != 0) {\n"
    "        fc_take(to, from, n, lane);\n"
    "    } else {\n"
    "        fc_kept();\n"
    "        __syncwarp();\n"
    "        if (lane == 0 && bytes) fc_send(to, from, bytes);\n"
    "    }\n"
    "}\n";

void fc_cuda_ring_prelude(fc_cuda_gen *g) {
    fc_str *out = g->t.out;
    fc_str_add(out, instructions);
    fc_str_add(out, g->cls->large ? fetch_last : fetch);
    fc_str_add(out, pieces);
    if (fc_cuda_is_ring(g->k, g->cls) && g->cls->aligned) fc_str_add(out, lines);
}
