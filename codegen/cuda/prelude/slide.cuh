// slide.cuh - rows of an array that come to the shared memory of a warp as its columns read them (cuda_slide.c).

//@ lines
// ROWS lines of SIZE places side by side. `column` says which column stands at a place; -1: none does, or nobody reads
// there. Pieces of 16 bytes that are columns side by side come whole: `source` is where those of a lane are from the
// first row on; -1: it has none. All other places of a line, `odd` of them, the `first` in front of those pieces, come
// one by one.
template <typename T, int SIZE, int ROWS> struct fc_lines {
    enum { EACH = 16 / (int)sizeof(T), PIECES = SIZE / EACH, ROUNDS = (ROWS * PIECES + 31) / 32 };
    T *to;
    ix *column;
    ix source[ROUNDS];
    int first, odd;
};
// The place `begin` is in the first row of the array, at `from`, whose rows are `by` elements long.
template <typename T, int SIZE, int ROWS, typename F>
FC_INLINE void fc_lines_begin(fc_lines<T, SIZE, ROWS> &l, char *room, const T *from, ix by, ix begin, int lane,
                              F column_at) {
    typedef fc_lines<T, SIZE, ROWS> lines;
    enum { EACH = lines::EACH, PIECES = lines::PIECES };
    l.to = (T *)room;
    l.column = (ix *)(l.to + SIZE * ROWS);
    const bool even = (((unsigned long long)(from + begin) | (unsigned long long)by * sizeof(T)) & 15) == 0;
    for (int c = lane; c < SIZE; c += 32) l.column[c] = column_at(begin + c);
    __syncwarp();
    const auto whole = [&](const int c) {
        bool all = even && begin + c * EACH >= 0; /* -1 is none */
        for (int e = c * EACH; e < (c + 1) * EACH; e++) all = all && l.column[e] == begin + e;
        return all;
    };
    int low = 0;
    while (low < PIECES && !whole(low)) low++;
    int high = low;
    while (high < PIECES && whole(high)) high++;
    l.first = low * EACH;
    l.odd = (PIECES - (high - low)) * EACH;
#pragma unroll
    for (int n = 0; n < lines::ROUNDS; n++) {
        const int k = n * 32 + lane, c = k % PIECES;
        const bool there = k < ROWS * PIECES && c >= low && c < high;
        l.source[n] = there ? k / PIECES * by + (begin + c * EACH) : (ix)-1;
    }
}
template <typename T> FC_INLINE void fc_bring_place(T *to, const T *from, ix at) {
    if constexpr (sizeof(T) >= 4)
        fc_bring_some<(int)sizeof(T)>(to, from + (at < 0 ? 0 : at), at >= 0);
    else
        *to = at < 0 ? (T)0 : from[at];
}
// All lines, whose rows follow each other; line r by itself.
template <typename T, int SIZE, int ROWS>
FC_INLINE void fc_lines_bring(const fc_lines<T, SIZE, ROWS> &l, const T *from, ix by, int lane) {
    typedef fc_lines<T, SIZE, ROWS> lines;
#pragma unroll
    for (int n = 0; n < lines::ROUNDS; n++)
        if (l.source[n] >= 0) fc_bring(l.to + (n * 32 + lane) * lines::EACH, from + l.source[n], true);
#pragma unroll 1
    for (int k = lane; k < l.odd; k += 32) {
        const int c = k < l.first ? k : k + (SIZE - l.odd);
        const ix at = l.column[c];
#pragma unroll
        for (int r = 0; r < ROWS; r++) fc_bring_place(l.to + (r * SIZE + c), from + r * by, at);
    }
}
template <typename T, int SIZE, int ROWS>
FC_INLINE void fc_lines_bring_one(const fc_lines<T, SIZE, ROWS> &l, int r, const T *from, int lane) {
#pragma unroll 1
    for (int c = lane; c < SIZE; c += 32) fc_bring_place(l.to + (r * SIZE + c), from, l.column[c]);
}
// What a thread reads of line r, from place `at` on, by UNIT elements.
template <int UNIT, int N, typename T, int SIZE, int ROWS>
FC_INLINE void fc_lines_take(T (&to)[N], const fc_lines<T, SIZE, ROWS> &l, int r, int at) {
#pragma unroll
    for (int k = 0; k < N; k += UNIT)
        fc_spread(to + k, *(const fc_vec<T, UNIT, UNIT * (int)sizeof(T)> *)(l.to + (r * SIZE + at + k)));
}
