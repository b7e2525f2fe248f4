/* cuda_load.c - loads of whole vectors that say what caches should do with what they read: which
 * accesses have them, and their text. */
#include "codegen/cuda/cuda.h"

/* ---- which ----------------------------------------------------------------------------------- */

/* Whether each element is read for one element of the nest, and not written. */
static bool streams(const fc_cuda_gen *g, uint32_t a) {
    if (!fc_cuda_is_memory(g->k, a) || g->k->args.at[g->k->accesses.at[a].buffer].written)
        return false;
    for (uint32_t x = 0; x < g->axes; x++)
        if (fc_class_move(g->cls, a, x) == FC_MOVE_ZERO) return false;
    return true;
}

bool fc_cuda_lasts(const fc_cuda_gen *g, uint32_t a) {
    return g->cls->large && streams(g, a);
}

bool fc_cuda_once(const fc_cuda_gen *g, uint32_t a) {
    const unsigned bytes = fc_cuda_bytes(g->k, a) * g->cls->vector;
    const bool full =
        (g->cls->variant & (FC_CUDA_FULL + FC_CUDA_TURNED)) == FC_CUDA_FULL && g->cls->split;
    return g->k->schedule == FC_SCHED_OUTER && full && streams(g, a) && bytes >= 8 &&
           bytes << g->cls->teams >= FC_CUDA_LINE;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* A load whose line leaves the L2 after those that have no such wish; not of fewer than 4 bytes.
 * The asm is neither volatile nor does it clobber memory, so that loads may move and stand side by
 * side as others do: a kernel never writes what it loads (ir/kernel.h). */
static const char prelude_last[] =
    "template <typename V> FC_INLINE V fc_load_last(const V *p) {\n"
    "#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 800\n"
    "    union {\n"
    "        V v;\n"
    "        unsigned int r[8];\n"
    "    } to;\n" FC_CUDA_WISH_LAST "    if constexpr (sizeof(V) < 4) {\n"
    "        to.v = *p;\n"
    "    } else if constexpr (sizeof(V) == 4) {\n"
    "        asm(\"ld.global.L2::cache_hint.b32 %0, [%1], %2;\"\n"
    "            : \"=r\"(to.r[0])\n"
    "            : \"l\"(p), \"l\"(wish));\n"
    "    } else if constexpr (sizeof(V) == 8) {\n"
    "        asm(\"ld.global.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;\"\n"
    "            : \"=r\"(to.r[0]), \"=r\"(to.r[1])\n"
    "            : \"l\"(p), \"l\"(wish));\n"
    "    } else {\n"
    "#pragma unroll\n"
    "        for (unsigned int i = 0; i < sizeof(V) / 4; i += 4)\n"
    "            asm(\"ld.global.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;\"\n"
    "                : \"=r\"(to.r[i]), \"=r\"(to.r[i + 1]), \"=r\"(to.r[i + 2]), \"=r\"(to.r[i + "
    "3])\n"
    "                : \"l\"((const unsigned int *)p + i), \"l\"(wish));\n"
    "    }\n"
    "    return to.v;\n"
    "#else\n"
    "    return *p;\n"
    "#endif\n"
    "}\n";

/* A load of 8 or 16 bytes that leaves nothing in the L1. */
static const char prelude_once[] =
    "template <typename V> FC_INLINE V fc_load_once(const V *p) {\n"
    "#if !defined(FC_EMULATE) && __CUDA_ARCH__ >= 700\n"
    "    union {\n"
    "        V v;\n"
    "        unsigned int r[4];\n"
    "    } to;\n"
    "    if constexpr (sizeof(V) == 8) {\n"
    "        asm(\"ld.global.nc.L1::no_allocate.v2.b32 {%0, %1}, [%2];\"\n"
    "            : \"=r\"(to.r[0]), \"=r\"(to.r[1])\n"
    "            : \"l\"(p));\n"
    "    } else if constexpr (sizeof(V) == 16) {\n"
    "        asm(\"ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];\"\n"
    "            : \"=r\"(to.r[0]), \"=r\"(to.r[1]), \"=r\"(to.r[2]), \"=r\"(to.r[3])\n"
    "            : \"l\"(p));\n"
    "    } else {\n"
    "        to.v = *p;\n"
    "    }\n"
    "    return to.v;\n"
    "#else\n"
    "    return *p;\n"
    "#endif\n"
    "}\n";

static bool any_access(const fc_cuda_gen *g, bool (*is)(const fc_cuda_gen *, uint32_t)) {
    for (uint32_t a = 0; a < g->k->accesses.len; a++)
        if (is(g, a)) return true;
    return false;
}

void fc_cuda_load_prelude(const fc_cuda_gen *g) {
    if (any_access(g, fc_cuda_lasts)) fc_str_add(g->t.out, prelude_last);
    if (any_access(g, fc_cuda_once)) fc_str_add(g->t.out, prelude_once);
}
