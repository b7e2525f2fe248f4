// sort.cuh - rows of unsigned integers in order, with their positions or without (cuda_sort.c).
//
// Short rows: a network of exchanges in the registers of a block, several rows side by side. Long
// rows: by digits of 8 bits from the lowest. One kernel counts the digits of each place; then, for
// each place, tiles of a row order their elements by the digit and put them behind those of the
// tiles before, whose counts they look back at. Everything is stable: keys that are equal stay in
// the order of their positions. Of a part of the order of long rows the first and the last key are
// found digit by digit, what lies between them is kept in its order, and that is sorted.

//@ sort
/* words of the parameters */
enum {
    FC_SORT_IN,     /* keys */
    FC_SORT_OUT,    /* keys in order; 0: nobody wants them */
    FC_SORT_AT_IN,  /* unsigned int: positions; 0: the elements stand where they are */
    FC_SORT_AT_OUT, /* unsigned int, or long long where LAST is set */
    FC_SORT_N,      /* elements of a row */
    FC_SORT_ROWS,
    FC_SORT_PLACE, /* number of the digit */
    FC_SORT_LAST,
    FC_SORT_COUNTS,  /* unsigned int [row][place][256] */
    FC_SORT_TILES,   /* unsigned long long [row][tile][256] */
    FC_SORT_TICKETS, /* unsigned int [place] */
    FC_SORT_FIRST,   /* the part that is wanted, */
    FC_SORT_GIVEN,   /* so many places; behind the last one it stays the last one */
    FC_SORT_ENDS     /* fc_sort_end [row][2] */
};
enum { FC_SORT_THREADS = 256, FC_SORT_WARPS = FC_SORT_THREADS / 32 };
template <typename K> FC_INLINE unsigned int fc_digit(K key, int place) {
    return (unsigned int)(key >> 8 * place) & 255;
}

//@ sort_rows
enum { FC_SORT_OWN = 8, FC_SORT_SLOTS = FC_SORT_THREADS * FC_SORT_OWN };
/* so that threads which take eight neighbours each meet different banks */
FC_INLINE unsigned int fc_slot(unsigned int i) {
    return i + i / 32;
}
template <typename K, bool AT> struct fc_sorting {
    K key[FC_SORT_OWN];
    unsigned int at[AT ? FC_SORT_OWN : 1];
    __device__ __forceinline__ bool above(int i, K k, unsigned int a) const {
        if constexpr (AT) return key[i] > k || (key[i] == k && at[i] > a);
        return key[i] > k;
    }
    /* the lesser of elements i and j to i */
    __device__ __forceinline__ void order(int i, int j) {
        unsigned int a = 0;
        if constexpr (AT) a = at[j];
        const bool swap = above(i, key[j], a);
        const K k = key[i];
        key[i] = swap ? key[j] : k;
        key[j] = swap ? k : key[j];
        if constexpr (AT) {
            const unsigned int b = at[i];
            at[i] = swap ? a : b;
            at[j] = swap ? b : a;
        }
    }
    /* element i, or k in its place: the greater one where `upper` */
    __device__ __forceinline__ void meet(int i, K k, unsigned int a, bool upper) {
        const bool take = above(i, k, a) != upper;
        key[i] = take ? k : key[i];
        if constexpr (AT) at[i] = take ? a : at[i];
    }
    __device__ __forceinline__ void halves(int from) {
#pragma unroll
        for (int d = FC_SORT_OWN / 2; d; d /= 2)
#pragma unroll
            for (int i = 0; i < FC_SORT_OWN; i++)
                if (d <= from && !(i & d)) order(i, i + d);
    }
    /* with the elements of thread ^ mask, in their order or in the opposite one */
    __device__ __forceinline__ void exchange(unsigned int mask, bool mirror, K *keys,
                                             unsigned int *ats) {
        const bool upper = (threadIdx.x & (mirror ? (mask + 1) / 2 : mask)) != 0;
        K k[FC_SORT_OWN];
        unsigned int a[FC_SORT_OWN] = {0};
        const bool near = mask < 32;
        if (near) {
#pragma unroll
            for (int i = 0; i < FC_SORT_OWN; i++) {
                k[i] = __shfl_xor_sync(~0u, key[i], (int)mask);
                if constexpr (AT) a[i] = __shfl_xor_sync(~0u, at[i], (int)mask);
            }
        } else {
            const unsigned int mine = threadIdx.x * FC_SORT_OWN,
                               other = (threadIdx.x ^ mask) * FC_SORT_OWN;
            __syncthreads();
#pragma unroll
            for (int i = 0; i < FC_SORT_OWN; i++) {
                keys[fc_slot(mine + i)] = key[i];
                if constexpr (AT) ats[fc_slot(mine + i)] = at[i];
            }
            __syncthreads();
#pragma unroll
            for (int i = 0; i < FC_SORT_OWN; i++) {
                k[i] = keys[fc_slot(other + i)];
                if constexpr (AT) a[i] = ats[fc_slot(other + i)];
            }
        }
        if (mirror) {
#pragma unroll
            for (int i = 0; i < FC_SORT_OWN; i++)
                meet(i, k[FC_SORT_OWN - 1 - i], a[FC_SORT_OWN - 1 - i], upper);
        } else {
#pragma unroll
            for (int i = 0; i < FC_SORT_OWN; i++) meet(i, k[i], a[i], upper);
        }
    }
    /* Runs of `size` elements, each against its mirror image, then halves of halves. */
    __device__ __forceinline__ void run(unsigned int size, K *keys, unsigned int *ats) {
#pragma unroll
        for (int s = 2; s <= FC_SORT_OWN; s *= 2) {
#pragma unroll
            for (int i = 0; i < FC_SORT_OWN; i++)
                if ((i ^ (s - 1)) > i) order(i, i ^ (s - 1));
            halves(s / 4);
        }
#pragma unroll 1
        for (unsigned int s = 2 * FC_SORT_OWN; s <= size; s *= 2) {
            exchange(s / FC_SORT_OWN - 1, true, keys, ats);
#pragma unroll 1
            for (unsigned int d = s / 4; d >= FC_SORT_OWN; d /= 2)
                exchange(d / FC_SORT_OWN, false, keys, ats);
            halves(FC_SORT_OWN / 2);
        }
    }
};

//@ sort_block
/* w[FC_SORT_PLACE]: log2 of the slots of a row */
template <typename K, bool AT> FC_INLINE void fc_sort_rows(const long long *w) {
    __shared__ K keys[FC_SORT_SLOTS + FC_SORT_SLOTS / 32];
    __shared__ unsigned int ats[AT ? FC_SORT_SLOTS + FC_SORT_SLOTS / 32 : 1];
    const K *in = (const K *)w[FC_SORT_IN];
    K *out = (K *)w[FC_SORT_OUT];
    long long *at_out = (long long *)w[FC_SORT_AT_OUT];
    const int shift = (int)w[FC_SORT_PLACE];
    const unsigned int n = (unsigned int)w[FC_SORT_N], size = 1u << shift, thread = threadIdx.x;
    const long long row = (long long)blockIdx.x * (FC_SORT_SLOTS >> shift), rows = w[FC_SORT_ROWS];
    fc_sorting<K, AT> s;
#pragma unroll
    for (int i = 0; i < FC_SORT_OWN; i++) {
        const unsigned int slot = i * FC_SORT_THREADS + thread, c = slot & (size - 1);
        const long long r = row + (slot >> shift);
        keys[fc_slot(slot)] = c < n && r < rows ? in[r * n + c] : (K) ~(K)0;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < FC_SORT_OWN; i++) {
        const unsigned int slot = thread * FC_SORT_OWN + i;
        s.key[i] = keys[fc_slot(slot)];
        if constexpr (AT) s.at[i] = slot & (size - 1);
    }
    s.run(size, keys, ats);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < FC_SORT_OWN; i++) {
        const unsigned int slot = thread * FC_SORT_OWN + i;
        keys[fc_slot(slot)] = s.key[i];
        if constexpr (AT) ats[fc_slot(slot)] = s.at[i];
    }
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < FC_SORT_OWN; i++) {
        const unsigned int slot = i * FC_SORT_THREADS + thread, c = slot & (size - 1);
        const long long r = row + (slot >> shift);
        if (c >= n || r >= rows) continue;
        const unsigned int *at_in = (const unsigned int *)w[FC_SORT_AT_IN];
        const int given = (int)w[FC_SORT_GIVEN];
        for (int k = (int)c - (int)w[FC_SORT_FIRST]; k >= 0 && k < given;
             k = c == n - 1 ? k + 1 : given) {
            if (out) out[r * given + k] = keys[fc_slot(slot)];
            if constexpr (AT)
                at_out[r * given + k] =
                    at_in ? at_in[r * n + ats[fc_slot(slot)]] : ats[fc_slot(slot)];
        }
    }
}

//@ sort_count
/* A block counts the digits of SPAN elements of a row. */
enum { FC_SORT_SPAN = FC_SORT_THREADS * 64 };
template <typename K> FC_INLINE void fc_sort_count(const long long *w) {
    const int places = (int)sizeof(K);
    __shared__ unsigned int count[places][256];
    const unsigned int thread = threadIdx.x;
    const long long n = w[FC_SORT_N], spans = (n + FC_SORT_SPAN - 1) / FC_SORT_SPAN;
    const long long row = blockIdx.x / spans, begin = blockIdx.x % spans * FC_SORT_SPAN;
    const K *in = (const K *)w[FC_SORT_IN] + row * n;
    const long long end = begin + FC_SORT_SPAN < n ? begin + FC_SORT_SPAN : n;
    for (int p = 0; p < places; p++) count[p][thread] = 0;
    __syncthreads();
#pragma unroll 1
    for (long long i = begin + thread; i < end; i += 8 * FC_SORT_THREADS) {
        K key[8];
#pragma unroll
        for (int u = 0; u < 8; u++)
            if (i + u * FC_SORT_THREADS < end) key[u] = in[i + u * FC_SORT_THREADS];
#pragma unroll
        for (int u = 0; u < 8; u++)
            if (i + u * FC_SORT_THREADS < end)
#pragma unroll
                for (int p = 0; p < places; p++) atomicAdd(&count[p][fc_digit(key[u], p)], 1u);
    }
    __syncthreads();
    unsigned int *to = (unsigned int *)w[FC_SORT_COUNTS] + row * places * 256;
    for (int p = 0; p < places; p++)
        if (count[p][thread]) atomicAdd(to + p * 256 + thread, count[p][thread]);
}

//@ sort_tiles
#ifndef FC_EMULATE
#ifndef FC_PAUSE
#define FC_PAUSE()
#endif
/* the lanes with the same digit */
FC_INLINE unsigned int fc_same_digit(unsigned int digit) {
    unsigned int same = ~0u;
#pragma unroll
    for (int b = 0; b < 8; b++) {
        const bool bit = digit >> b & 1;
        const unsigned int lanes = __ballot_sync(~0u, bit);
        same &= bit ? lanes : ~lanes;
    }
    return same;
}
/* the lanes where it holds */
FC_INLINE unsigned int fc_lanes(bool x) {
    return __ballot_sync(~0u, x);
}
#endif
/* what the threads before this one have; `board` has room for the warps */
FC_INLINE unsigned int fc_sum_before(unsigned int x, unsigned int *board) {
    const int lane = (int)(threadIdx.x & 31), warp = (int)(threadIdx.x / 32);
    unsigned int sum = x;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const unsigned int y = __shfl_sync(~0u, sum, lane - d & 31);
        if (lane >= d) sum += y;
    }
    __syncthreads();
    if (lane == 31) board[warp] = sum;
    __syncthreads();
    sum -= x;
    for (int i = 0; i < FC_SORT_WARPS; i++)
        if (i < warp) sum += board[i];
    return sum;
}
/* Of tile `tile` digit `threadIdx.x`: tells the tiles behind how many it has, and gives how many
   those before have. A word says of which place it is, and whether it is of one tile or of all up
   to it. A tile has DIGITS words. */
template <int DIGITS>
FC_INLINE unsigned long long fc_sort_before(volatile unsigned long long *tiles, long long tile,
                                            int place, unsigned int count) {
    const unsigned long long own = (unsigned long long)(2 * place + 1) << 48,
                             all = own + (1ull << 48);
    volatile unsigned long long *slot = tiles + tile * DIGITS + threadIdx.x;
    unsigned long long before = 0;
    if (tile) *slot = own | count;
    for (long long t = tile; t-- > 0;) {
        unsigned long long v;
        do {
            v = tiles[t * DIGITS + threadIdx.x];
            if (v >> 48 < own >> 48) FC_PAUSE();
        } while (v >> 48 < own >> 48);
        before += v & 0xffffffffffffull;
        if (v >> 48 == all >> 48) break;
    }
    *slot = all | (before + count);
    return before;
}

//@ sort_tile
template <typename K, bool AT> FC_INLINE void fc_sort_tile(const long long *w) {
    const int own = sizeof(K) == 8 ? 8 : 16, size = own * FC_SORT_THREADS;
    __shared__ unsigned int count[FC_SORT_WARPS][256], board[FC_SORT_WARPS], taken;
    __shared__ long long place_of[256];
    __shared__ bool same;
    __shared__ K keys[size];
    __shared__ unsigned int ats[AT ? size : 1];
    const unsigned int thread = threadIdx.x, lane = thread & 31, warp = thread / 32;
    const int place = (int)w[FC_SORT_PLACE];
    const long long n = w[FC_SORT_N], tiles = (n + size - 1) / size;
    if (thread == 0) {
        taken = atomicAdd((unsigned int *)w[FC_SORT_TICKETS] + place, 1u);
        same = false;
    }
    for (int i = 0; i < FC_SORT_WARPS; i++) count[i][thread] = 0;
    __syncthreads();
    const long long row = taken / tiles, tile = taken % tiles, begin = tile * size;
    const int there = (int)(n - begin < size ? n - begin : size);
    const K *in = (const K *)w[FC_SORT_IN] + row * n + begin;
    const unsigned int *at_in =
        w[FC_SORT_AT_IN] ? (const unsigned int *)w[FC_SORT_AT_IN] + row * n + begin : 0;
    K *out = w[FC_SORT_OUT] ? (K *)w[FC_SORT_OUT] + row * n : 0;
    const long long at_row = row * n;
    K key[own];
    unsigned int at[AT ? own : 1], rank[own];
#pragma unroll
    for (int i = 0; i < own; i++) {
        const int e = (int)warp * 32 * own + i * 32 + (int)lane;
        key[i] = e < there ? in[e] : (K) ~(K)0;
        if constexpr (AT)
            at[i] = at_in ? (e < there ? at_in[e] : 0) : (unsigned int)begin + (unsigned int)e;
    }
    /* begins of the digits in the row; one digit alone has nothing to order */
    const unsigned int in_row =
        ((const unsigned int *)w[FC_SORT_COUNTS])[(row * (int)sizeof(K) + place) * 256 + thread];
    if (in_row == (unsigned int)n) same = true;
    const unsigned int first = fc_sum_before(in_row, board);
#pragma unroll
    for (int i = 0; i < own; i++) {
        const unsigned int d = fc_digit(key[i], place);
        if (same) {
            rank[i] = warp * 32 * own + i * 32 + lane;
            continue;
        }
        const unsigned int lanes = fc_same_digit(d), below = lanes & ((1u << lane) - 1);
        const unsigned int before = count[warp][d];
        __syncwarp();
        if (!below) count[warp][d] = before + (unsigned int)__popcll(lanes);
        __syncwarp();
        rank[i] = before + (unsigned int)__popcll(below);
    }
    __syncthreads();
    unsigned int sum = 0;
    for (int i = 0; i < FC_SORT_WARPS; i++) {
        const unsigned int c = count[i][thread];
        count[i][thread] = sum;
        sum += c;
    }
    const unsigned int start = fc_sum_before(sum, board);
    if (same) {
        place_of[thread] = begin;
    } else {
        for (int i = 0; i < FC_SORT_WARPS; i++) count[i][thread] += start;
        const unsigned long long before = fc_sort_before<256>(
            (volatile unsigned long long *)w[FC_SORT_TILES] + row * tiles * 256, tile, place, sum);
        place_of[thread] = (long long)first + (long long)before - (long long)start;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < own; i++) {
        const unsigned int to = rank[i] + (same ? 0 : count[warp][fc_digit(key[i], place)]);
        keys[to] = key[i];
        if constexpr (AT) ats[to] = at[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < own; i++) {
        const int e = i * FC_SORT_THREADS + (int)thread;
        if (e >= there) continue;
        const K k = keys[e];
        const long long to = place_of[fc_digit(k, place)] + e;
        if (out) out[to] = k;
        if constexpr (AT) {
            if (w[FC_SORT_LAST])
                ((long long *)w[FC_SORT_AT_OUT])[at_row + to] = ats[e];
            else
                ((unsigned int *)w[FC_SORT_AT_OUT])[at_row + to] = ats[e];
        }
    }
}

//@ sort_ends
/* The key at one end of a part, as far as it is known, and its place among those that begin like
 * it. */
struct fc_sort_end {
    unsigned long long key, place;
};

//@ sort_pick
/* The next digit of both ends, from the highest down. A block counts the digits of SPAN elements of
   a row which begin like an end; the last block of the row, or the only one, finds the digit. */
enum { FC_PICK_SPAN = FC_SORT_THREADS * 64 };
template <typename K> FC_INLINE void fc_sort_pick(const long long *w) {
    __shared__ unsigned int count[2][256], board[FC_SORT_WARPS];
    __shared__ bool last;
    const unsigned int thread = threadIdx.x;
    const int place = (int)w[FC_SORT_PLACE];
    const bool top = place + 1 == (int)sizeof(K);
    const long long n = w[FC_SORT_N], spans = (n + FC_PICK_SPAN - 1) / FC_PICK_SPAN;
    const long long row = blockIdx.x / spans, begin = blockIdx.x % spans * FC_PICK_SPAN;
    const K *in = (const K *)w[FC_SORT_IN] + row * n;
    const long long end = begin + FC_PICK_SPAN < n ? begin + FC_PICK_SPAN : n;
    fc_sort_end *ends = (fc_sort_end *)w[FC_SORT_ENDS] + row * 2;
    fc_sort_end e[2];
    e[0].key = top ? 0 : ends[0].key;
    e[1].key = top ? 0 : ends[1].key;
    e[0].place = top ? (unsigned long long)w[FC_SORT_FIRST] : ends[0].place;
    e[1].place =
        top ? (unsigned long long)(w[FC_SORT_FIRST] + w[FC_SORT_GIVEN] - 1) : ends[1].place;
    const bool one = e[0].key == e[1].key;
    count[0][thread] = count[1][thread] = 0;
    __syncthreads();
#pragma unroll 1
    for (long long i = begin + thread; i < end; i += 8 * FC_SORT_THREADS) {
        K key[8];
#pragma unroll
        for (int u = 0; u < 8; u++)
            if (i + u * FC_SORT_THREADS < end) key[u] = in[i + u * FC_SORT_THREADS];
#pragma unroll
        for (int u = 0; u < 8; u++)
            if (i + u * FC_SORT_THREADS < end) {
                const unsigned long long k = key[u];
                const unsigned int d = fc_digit(key[u], place);
                if (top || (k ^ e[0].key) >> 8 * place >> 8 == 0) atomicAdd(&count[0][d], 1u);
                if (!one && (k ^ e[1].key) >> 8 * place >> 8 == 0) atomicAdd(&count[1][d], 1u);
            }
    }
    __syncthreads();
    unsigned int *to = (unsigned int *)w[FC_SORT_COUNTS] + row * 2 * 256;
    if (thread == 0) last = true;
    if (spans > 1) {
        for (int x = 0; x < 2; x++)
            if (count[x][thread]) atomicAdd(to + x * 256 + thread, count[x][thread]);
        __threadfence();
        __syncthreads();
        unsigned int *ticket = (unsigned int *)w[FC_SORT_TICKETS] + row;
        if (thread == 0) {
            last = atomicAdd(ticket, 1u) == (unsigned int)spans - 1;
            if (last) *ticket = 0;
        }
        __syncthreads();
        if (!last) return;
        __threadfence();
        for (int x = 0; x < 2; x++) {
            count[x][thread] = *(volatile unsigned int *)(to + x * 256 + thread);
            to[x * 256 + thread] = 0;
        }
    }
    for (int x = 0; x < 2; x++) {
        const unsigned int own = count[one ? 0 : x][thread], before = fc_sum_before(own, board);
        if (e[x].place < before || e[x].place >= (unsigned long long)before + own) continue;
        ends[x].key = e[x].key | (unsigned long long)thread << 8 * place;
        ends[x].place = e[x].place - before;
    }
}

//@ sort_keep
/* What lies between both ends, in the order of its positions. */
template <typename K, bool AT> FC_INLINE void fc_sort_keep(const long long *w) {
    const int own = sizeof(K) == 8 ? 8 : 16, size = own * FC_SORT_THREADS;
    __shared__ unsigned int count[FC_SORT_WARPS][3], taken;
    __shared__ unsigned long long begins[3];
    const unsigned int thread = threadIdx.x, lane = thread & 31, warp = thread / 32,
                       below = (1u << lane) - 1;
    const long long n = w[FC_SORT_N], given = w[FC_SORT_GIVEN], tiles = (n + size - 1) / size;
    if (thread == 0) taken = atomicAdd((unsigned int *)w[FC_SORT_TICKETS] + w[FC_SORT_ROWS], 1u);
    __syncthreads();
    const long long row = taken / tiles, tile = taken % tiles, begin = tile * size;
    const int there = (int)(n - begin < size ? n - begin : size);
    const K *in = (const K *)w[FC_SORT_IN] + row * n + begin;
    const fc_sort_end *ends = (const fc_sort_end *)w[FC_SORT_ENDS] + row * 2;
    const K low = (K)ends[0].key, high = (K)ends[1].key;
    /* of those that are as low or as high the first and the last one that belong to it */
    const unsigned long long from = ends[0].place, upto = ends[1].place;
    const bool one = low == high;
    K key[own];
    int kind[own]; /* 0: between, 1: low, 2: high */
    unsigned int sum[3] = {0, 0, 0};
#pragma unroll
    for (int i = 0; i < own; i++) {
        const int e = (int)warp * 32 * own + i * 32 + (int)lane;
        key[i] = e < there ? in[e] : (K)0;
        kind[i] = e >= there                      ? 3
                  : key[i] == low                 ? 1
                  : key[i] == high                ? 2
                  : key[i] > low && key[i] < high ? 0
                                                  : 3;
#pragma unroll
        for (int q = 0; q < 3; q++) sum[q] += (unsigned int)__popcll(fc_lanes(kind[i] == q));
    }
    if (lane == 0)
        for (int q = 0; q < 3; q++) count[warp][q] = sum[q];
    __syncthreads();
    if (thread < 3) {
        unsigned int all = 0;
        for (int i = 0; i < FC_SORT_WARPS; i++) {
            const unsigned int c = count[i][thread];
            count[i][thread] = all;
            all += c;
        }
        begins[thread] = fc_sort_before<4>(
            (volatile unsigned long long *)w[FC_SORT_TILES] + row * tiles * 4, tile, 0, all);
    }
    __syncthreads();
    unsigned long long before[3];
    for (int q = 0; q < 3; q++) before[q] = begins[q] + count[warp][q];
#pragma unroll
    for (int i = 0; i < own; i++) {
        unsigned long long at[3];
#pragma unroll
        for (int q = 0; q < 3; q++) {
            const unsigned int lanes = fc_lanes(kind[i] == q);
            at[q] = before[q] + (unsigned int)__popcll(lanes & below);
            before[q] += (unsigned int)__popcll(lanes);
        }
        const bool keep = kind[i] == 0 ||
                          (kind[i] == 1 && at[1] >= from && (!one || at[1] <= upto)) ||
                          (kind[i] == 2 && at[2] <= upto);
        if (!keep) continue;
        const unsigned long long lows = at[1] > from ? at[1] - from : 0,
                                 highs = at[2] > upto ? upto + 1 : at[2];
        const long long to = row * given + (long long)(at[0] + lows + highs);
        ((K *)w[FC_SORT_OUT])[to] = key[i];
        if constexpr (AT)
            ((unsigned int *)w[FC_SORT_AT_OUT])[to] =
                (unsigned int)begin + warp * 32 * own + (unsigned int)i * 32 + lane;
    }
}
