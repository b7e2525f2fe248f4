// cub.cu - the peer that is written by hand: CUB's device-wide algorithms, by nvcc, one program for all rows.
//
//     bench_cub --kind KIND --input NAME:DTYPE:SIZES:KIND[:LOW:HIGH]... --sets N --batches N --launches N --ms T
//               [--save DIR]
//
// Inputs are those of bench/support/bench.h, results go to DIR/out0, ..., and one line of JSON to stdout, as
// bench_run does it. Temporary memory is got once, before the timing.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>
#include <cuda/std/tuple>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#define MUST(call)                                                                                  \
    do {                                                                                            \
        cudaError_t e_ = (call);                                                                    \
        if (e_ != cudaSuccess) {                                                                    \
            fprintf(stderr, "bench_cub: %s: %s\n", #call, cudaGetErrorString(e_));                  \
            exit(1);                                                                                \
        }                                                                                           \
    } while (0)

struct input {
    std::string dtype;
    std::vector<size_t> shape;
    bool normal = false;
    float low = -1, high = 1;
    size_t count() const {
        size_t n = 1;
        for (size_t s : shape) n *= s;
        return n;
    }
};

static input parse(const std::string &word) {
    input in;
    std::vector<std::string> part(1);
    for (char c : word)
        if (c == ':') part.emplace_back();
        else part.back() += c;
    in.dtype = part.at(1);
    for (const char *p = part.at(2).c_str(); *p;) {
        char *end;
        in.shape.push_back(strtoull(p, &end, 10));
        p = *end ? end + 1 : end;
    }
    in.normal = part.at(3) == "n";
    if (part.size() == 6) {
        in.low = strtof(part[4].c_str(), nullptr);
        in.high = strtof(part[5].c_str(), nullptr);
    }
    return in;
}

// ---- data: bench/support/bench.h says how it is made ------------------------------------------------

__device__ inline unsigned mix(unsigned h) {
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return h ^ (h >> 16);
}

template <typename T>
__global__ void fill(T *out, size_t n, unsigned seed, bool normal, float low, float range) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        unsigned h = mix((unsigned)i + seed * 0x9e3779b9u);
        float x;
        if (normal) {
            unsigned k = mix(h + 0x9e3779b9u);
            int sum = (int)((h & 0xffff) + (h >> 16) + (k & 0xffff) + (k >> 16)) - 131070;
            x = __fmul_rn((float)sum, (float)(1.0 / 37837));
        } else {
            x = __fadd_rn(__fmul_rn((float)(h >> 8) * 0x1p-24f, range), low);
        }
        out[i] = (T)x;
    }
}

// ---- what is computed ----------------------------------------------------------------------------------

template <typename T> struct sine {
    __device__ T operator()(T x) const { return sinf(x * 2.0f + 1.0f); }
};
struct expsincos {
    __device__ float operator()(float x) const {
        float s, c;
        sincosf(x, &s, &c);
        return expf(s * c);
    }
};
template <typename T> struct axpy {
    __device__ T operator()(T x, T y) const { return (T)(2.5f * (float)x + (float)y); }
};
struct scale {
    __device__ float operator()(__nv_bfloat16 x) const { return (float)x * 1.7f; }
};
struct sqdiff {
    __device__ float operator()(const thrust::tuple<float, float> &t) const {
        float d = thrust::get<0>(t) - thrust::get<1>(t);
        return d * d;
    }
};
struct begin_of { // offsets of rows, computed instead of read
    long long columns;
    __host__ __device__ long long operator()(long long row) const { return row * columns; }
};
struct __align__(32) moments { // of a part: how many, mean, sum of squared distances from it, least, largest
    float n, mean, m2, low, high;
};
struct one {
    __device__ moments operator()(float x) const { return {1, x, 0, x, x}; }
};
struct join {
    __device__ moments operator()(const moments &a, const moments &b) const {
        float n = a.n + b.n, d = b.mean - a.mean, share = n > 0 ? b.n / n : 0;
        return {n, a.mean + d * share, a.m2 + b.m2 + d * d * a.n * share, fminf(a.low, b.low), fmaxf(a.high, b.high)};
    }
};
__global__ void unpack(const moments *m, float *mean, float *var, float *low, float *high) {
    *mean = m->mean, *var = m->m2 / m->n, *low = m->low, *high = m->high;
}

// ---- a workload: what to launch for a set of buffers -----------------------------------------------------

struct work {
    std::vector<input> in;
    size_t sets = 3;
    std::vector<void *> from, to; // set after set
    size_t nout = 1;
    std::vector<size_t> out_bytes;
    void *temp = nullptr;
    size_t temp_bytes = 0;
    cudaStream_t stream;
    template <typename T> T *x(size_t set, size_t i = 0) { return (T *)from[set * in.size() + i]; }
    template <typename T> T *y(size_t set, size_t i = 0) { return (T *)to[set * nout + i]; }
};

using launcher = std::function<void(size_t)>;

static void make_outputs(work &w) {
    if (!w.to.empty()) return;
    for (size_t s = 0; s < w.sets; s++)
        for (size_t b : w.out_bytes) {
            void *p;
            MUST(cudaMalloc(&p, b));
            w.to.push_back(p);
        }
}

// Results must be there first. An algorithm of CUB is asked for its memory once, then launched with it.
template <typename F> static launcher with_temp(work &w, F f) {
    make_outputs(w);
    MUST(f(nullptr, w.temp_bytes, 0));
    MUST(cudaMalloc(&w.temp, w.temp_bytes + 1));
    return [&w, f](size_t set) { MUST(f(w.temp, w.temp_bytes, set)); };
}

template <typename T, typename Op> static launcher map1(work &w, Op op, size_t out_size) {
    size_t n = w.in[0].count();
    w.out_bytes = {n * out_size};
    return [&w, n, op](size_t s) {
        if constexpr (std::is_same_v<Op, scale>)
            MUST(cub::DeviceTransform::Transform(w.x<T>(s), w.y<float>(s), n, op, w.stream));
        else
            MUST(cub::DeviceTransform::Transform(w.x<T>(s), w.y<T>(s), n, op, w.stream));
    };
}

template <typename T> static launcher map2(work &w) {
    size_t n = w.in[0].count();
    w.out_bytes = {n * sizeof(T)};
    return [&w, n](size_t s) {
        MUST(cub::DeviceTransform::Transform(cuda::std::make_tuple(w.x<T>(s, 0), w.x<T>(s, 1)), w.y<T>(s), n,
                                             axpy<T>{}, w.stream));
    };
}

static launcher full_sum(work &w) {
    w.out_bytes = {4};
    return with_temp(w, [&w](void *t, size_t &b, size_t s) {
        return cub::DeviceReduce::Sum(t, b, w.x<float>(s), w.y<float>(s), w.in[0].count(), w.stream);
    });
}

static launcher full_max(work &w) {
    w.out_bytes = {4};
    return with_temp(w, [&w](void *t, size_t &b, size_t s) {
        return cub::DeviceReduce::Max(t, b, w.x<float>(s), w.y<float>(s), w.in[0].count(), w.stream);
    });
}

static launcher full_argmax(work &w) { // results: the index, then the value (not compared)
    w.nout = 2;
    w.out_bytes = {8, 4};
    return with_temp(w, [&w](void *t, size_t &b, size_t s) {
        return cub::DeviceReduce::ArgMax(t, b, w.x<float>(s), w.y<float>(s, 1), w.y<long long>(s, 0),
                                         (long long)w.in[0].count(), w.stream);
    });
}

static launcher full_sqdiff(work &w) {
    w.out_bytes = {4};
    return with_temp(w, [&w](void *t, size_t &b, size_t s) {
        auto pairs = thrust::make_zip_iterator(w.x<float>(s, 0), w.x<float>(s, 1));
        return cub::DeviceReduce::TransformReduce(t, b, pairs, w.y<float>(s), w.in[0].count(), cuda::std::plus<>{},
                                                  sqdiff{}, 0.0f, w.stream);
    });
}

static launcher statistics(work &w) {
    w.nout = 4;
    w.out_bytes = {4, 4, 4, 4};
    moments *m;
    MUST(cudaMalloc(&m, sizeof *m));
    launcher reduce = with_temp(w, [&w, m](void *t, size_t &b, size_t s) {
        return cub::DeviceReduce::TransformReduce(t, b, w.x<float>(s), m, w.in[0].count(), join{}, one{},
                                                  moments{0, 0, 0, 1e38f, -1e38f}, w.stream);
    });
    return [&w, reduce, m](size_t s) {
        reduce(s);
        unpack<<<1, 1, 0, w.stream>>>(m, w.y<float>(s, 0), w.y<float>(s, 1), w.y<float>(s, 2), w.y<float>(s, 3));
    };
}

static launcher row_sums(work &w) {
    long long rows = (long long)w.in[0].shape.at(0);
    long long columns = (long long)w.in[0].shape.at(1);
    w.out_bytes = {(size_t)rows * 4};
    return with_temp(w, [&w, rows, columns](void *t, size_t &b, size_t s) {
        auto begin = thrust::make_transform_iterator(thrust::make_counting_iterator(0LL), begin_of{columns});
        return cub::DeviceSegmentedReduce::Sum(t, b, w.x<float>(s), w.y<float>(s), rows, begin, begin + 1, w.stream);
    });
}

template <typename T> static launcher histogram(work &w) { // of 256 numbers; counts of 64 bits
    w.out_bytes = {256 * 8};
    return with_temp(w, [&w](void *t, size_t &b, size_t s) {
        return cub::DeviceHistogram::HistogramEven(t, b, w.x<T>(s), w.y<unsigned long long>(s), 257, 0, 256,
                                                   (long long)w.in[0].count(), w.stream);
    });
}

static launcher prefix_sums(work &w) {
    w.out_bytes = {w.in[0].count() * 4};
    return with_temp(w, [&w](void *t, size_t &b, size_t s) {
        return cub::DeviceScan::InclusiveSum(t, b, w.x<float>(s), w.y<float>(s), (long long)w.in[0].count(), w.stream);
    });
}

static launcher sorted(work &w) {
    w.out_bytes = {w.in[0].count() * 4};
    return with_temp(w, [&w](void *t, size_t &b, size_t s) {
        return cub::DeviceRadixSort::SortKeys(t, b, w.x<int>(s), w.y<int>(s), (long long)w.in[0].count(), 0, 32,
                                              w.stream);
    });
}

__global__ void escape(float *out, int h, int w) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= h * w) return;
    float x = (float)(2 * (i % w) - w) / h * 1.25f - 0.75f, y = (float)(2 * (i / w) - h) / h * 1.25f;
    float r = 0, m = 0;
    int n = 0;
    for (; n < 256 && r * r + m * m <= 4; n++) {
        float t = r * r - m * m + x;
        m = 2 * r * m + y;
        r = t;
    }
    out[i] = (float)n;
}

static launcher mandelbrot(work &w) { // by hand
    const int h = 1080, width = 1920;
    w.out_bytes = {(size_t)h * width * 4};
    return [&w](size_t s) {
        escape<<<(h * width + 255) / 256, 256, 0, w.stream>>>(w.y<float>(s), h, width);
        MUST(cudaGetLastError());
    };
}

static launcher choose(work &w, const std::string &kind) {
    const std::string &t = w.in.at(0).dtype;
    if (kind == "sin") return map1<float>(w, sine<float>{}, 4);
    if (kind == "expsincos") return map1<float>(w, expsincos{}, 4);
    if (kind == "cast") return map1<__nv_bfloat16>(w, scale{}, 4);
    if (kind == "axpy")
        return t == "f32" ? map2<float>(w) : t == "bf16" ? map2<__nv_bfloat16>(w) : map2<__half>(w);
    if (kind == "sum") return full_sum(w);
    if (kind == "max") return full_max(w);
    if (kind == "argmax") return full_argmax(w);
    if (kind == "sqdiff") return full_sqdiff(w);
    if (kind == "stats") return statistics(w);
    if (kind == "rowsum") return row_sums(w);
    if (kind == "histogram") return t == "u8" ? histogram<unsigned char>(w) : histogram<int>(w);
    if (kind == "cumsum") return prefix_sums(w);
    if (kind == "sort") return sorted(w);
    if (kind == "mandelbrot") return mandelbrot(w);
    fprintf(stderr, "bench_cub: no kind %s\n", kind.c_str());
    exit(1);
}

// ---- buffers, timing, results --------------------------------------------------------------------------------

static void make_inputs(work &w) {
    for (size_t s = 0; s < w.sets; s++)
        for (size_t i = 0; i < w.in.size(); i++) {
            const input &in = w.in[i];
            void *p;
            unsigned seed = (unsigned)(1000 * s + i + 1);
            float range = in.high - in.low;
            MUST(cudaMalloc(&p, in.count() * 4));
            if (in.dtype == "f32") fill<<<1024, 256>>>((float *)p, in.count(), seed, in.normal, in.low, range);
            else if (in.dtype == "bf16")
                fill<<<1024, 256>>>((__nv_bfloat16 *)p, in.count(), seed, in.normal, in.low, range);
            else if (in.dtype == "i32") fill<<<1024, 256>>>((int *)p, in.count(), seed, in.normal, in.low, range);
            else if (in.dtype == "u8") fill<<<1024, 256>>>((unsigned char *)p, in.count(), seed, in.normal, in.low, range);
            else fill<<<1024, 256>>>((__half *)p, in.count(), seed, in.normal, in.low, range);
            MUST(cudaGetLastError());
            w.from.push_back(p);
        }
    MUST(cudaDeviceSynchronize());
}

static double batch(work &w, const launcher &f, int n, cudaEvent_t a, cudaEvent_t b) {
    float ms;
    MUST(cudaEventRecord(a, w.stream));
    for (int i = 0; i < n; i++) f((size_t)i % w.sets);
    MUST(cudaEventRecord(b, w.stream));
    MUST(cudaEventSynchronize(b));
    MUST(cudaEventElapsedTime(&ms, a, b));
    return ms * 1e-3 / n;
}

static void measure(work &w, const launcher &f, int batches, int launches, double ms) {
    cudaEvent_t a, b;
    MUST(cudaEventCreate(&a));
    MUST(cudaEventCreate(&b));
    auto start = std::chrono::steady_clock::now();
    double each;
    do each = batch(w, f, (int)w.sets, a, b);
    while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(30));
    int n = each > 3e-3 ? 5 : std::max(launches, (int)std::min(ms * 1e-3 / each, 1e6));
    std::vector<double> t;
    for (int i = 0; i < batches; i++) t.push_back(batch(w, f, n, a, b));
    std::sort(t.begin(), t.end());
    size_t k = t.size();
    double median = k % 2 ? t[k / 2] : (t[k / 2 - 1] + t[k / 2]) / 2;
    printf("{\"us\":%.9g,\"us_spread\":%.4g,\"us_least\":%.9g,\"us_samples\":%zu,\"launches\":%d,\"clock\":\"events\"}\n",
           median * 1e6, (t[k - 1 - k / 4] - t[k / 4]) / 2 * 1e6, t[0] * 1e6, k, n);
}

static void save(work &w, const std::string &dir) {
    for (size_t i = 0; i < w.nout && !dir.empty(); i++) {
        std::vector<char> host(w.out_bytes[i]);
        MUST(cudaMemcpy(host.data(), w.to[i], host.size(), cudaMemcpyDeviceToHost));
        FILE *f = fopen((dir + "/out" + std::to_string(i)).c_str(), "wb");
        if (!f || fwrite(host.data(), 1, host.size(), f) != host.size() || fclose(f)) exit(1);
    }
}

int main(int argc, char **argv) {
    work w;
    std::string kind, dir;
    int batches = 7, launches = 20;
    double ms = 20;
    for (int i = 1; i + 1 < argc; i += 2) {
        std::string name = argv[i], v = argv[i + 1];
        if (name == "--kind") kind = v;
        else if (name == "--input") w.in.push_back(parse(v));
        else if (name == "--sets") w.sets = (size_t)atoi(v.c_str());
        else if (name == "--batches") batches = atoi(v.c_str());
        else if (name == "--launches") launches = atoi(v.c_str());
        else if (name == "--ms") ms = atof(v.c_str());
        else if (name == "--save") dir = v;
    }
    MUST(cudaStreamCreate(&w.stream));
    make_inputs(w);
    launcher f = choose(w, kind);
    make_outputs(w);
    measure(w, f, batches, launches, ms);
    save(w, dir);
    return 0;
}
