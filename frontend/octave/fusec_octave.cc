/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fusec_octave.cc - the part of the Octave package that is compiled: __fusec__ (COMMAND, ...), which
 * the class `fusec` (made by make_class.m) calls.
 *
 * In: Octave's arrays. Out: values of fusec (octave_fusec), and arrays again.
 * Invariants: Octave's arrays are column-major, fusec's row-major: the same memory is an array with
 * the axes in the other order, so nothing is copied on the way in, axis k of Octave is axis -1 - k,
 * and aligning axes from the right is aligning them from the left, as Octave does. Texts of the
 * language see the axes in Octave's order, by a view. An array stays alive as long as a value needs
 * it; Octave copies one before it changes what somebody else holds. */
#include <fusec/fusec.h>
#include <octave/interpreter.h>
#include <octave/oct.h>
#include <octave/ov-base.h>

#include <memory>
#include <string>
#include <vector>

namespace {

fusec_context *the_context; /* lives as long as the process: so do values of the workspace */

[[noreturn]] void fail(fusec_status s) {
    std::string id = "fusec:", text = fusec_message(the_context);
    error_with_id((id + fusec_status_name(s)).c_str(), "fusec: %s", text.c_str());
    throw 0;
}

void check(fusec_status s) {
    if (s) fail(s);
}

fusec_context *context() {
    if (!the_context) check(fusec_context_new(nullptr, &the_context));
    return the_context;
}

} // namespace

/* ---- values in Octave -------------------------------------------------------------------------- */

/* A value, or a text of the language, that Octave counts and frees. */
class octave_fusec : public octave_base_value {
  public:
    octave_fusec() {}
    explicit octave_fusec(fusec_lazy *v) : lazy(v) {}
    explicit octave_fusec(fusec_module *m) : module(m) {}
    octave_fusec(const octave_fusec &) = delete;
    ~octave_fusec() override {
        fusec_lazy_release(lazy);
        if (module) fusec_module_free(module);
    }
    octave_base_value *clone() const override {
        if (module) error("fusec: a text can't be copied");
        if (lazy) fusec_lazy_retain(lazy);
        return new octave_fusec(lazy);
    }
    octave_base_value *empty_clone() const override { return new octave_fusec(); }
    bool is_defined() const override { return true; }
    void print(std::ostream &os, bool) override { os << "<fusec value>\n"; }

    fusec_lazy *lazy = nullptr;
    fusec_module *module = nullptr;

  private:
    DECLARE_OV_TYPEID_FUNCTIONS_AND_DATA
};

DEFINE_OV_TYPEID_FUNCTIONS_AND_DATA(octave_fusec, "fusec_ref", "fusec_ref");

namespace {

const octave_fusec *as_ref(const octave_value &v) {
    return v.type_id() == octave_fusec::static_type_id()
               ? static_cast<const octave_fusec *>(&v.get_rep())
               : nullptr;
}

fusec_lazy *lazy_of(const octave_value &v) {
    const octave_fusec *r = as_ref(v);
    if (!r || !r->lazy) error("fusec: a value of fusec is expected");
    return r->lazy;
}

/* ---- arrays ------------------------------------------------------------------------------------ */

/* What keeps Octave's memory alive: an array of its class that shares it (as an octave_value it might
 * become a scalar, which is elsewhere). */
typedef std::shared_ptr<void> keeper;
struct held {
    keeper array;
};

void release(void *user) {
    delete static_cast<held *>(user);
}

template <class A> const void *look(const A &a, keeper &keep) {
    const std::shared_ptr<A> same = std::make_shared<A>(a);
    keep = same;
    return same->data();
}

/* The dtype and memory of an array; `keep` holds what the memory belongs to. */
fusec_dtype memory(const octave_value &v, keeper &keep, const void *&data) {
#define CLASS(test, get, t)                                                                        \
    if (v.test()) {                                                                                \
        data = look(v.get(), keep);                                                                \
        return t;                                                                                  \
    }
    if (v.issparse() || v.iscell() || v.isstruct() || !(v.isnumeric() || v.islogical() || v.is_string()))
        error("fusec: full arrays of numbers are expected, not %s",
              v.issparse() ? "sparse ones" : v.class_name().c_str());
    if (v.iscomplex()) {
        CLASS(is_single_type, float_complex_array_value, FUSEC_C64)
        data = look(v.complex_array_value(), keep);
        return FUSEC_C128;
    }
    CLASS(islogical, bool_array_value, FUSEC_BOOL)
    CLASS(is_single_type, float_array_value, FUSEC_F32)
    CLASS(is_int8_type, int8_array_value, FUSEC_I8)
    CLASS(is_int16_type, int16_array_value, FUSEC_I16)
    CLASS(is_int32_type, int32_array_value, FUSEC_I32)
    CLASS(is_int64_type, int64_array_value, FUSEC_I64)
    CLASS(is_uint8_type, uint8_array_value, FUSEC_U8)
    CLASS(is_uint16_type, uint16_array_value, FUSEC_U16)
    CLASS(is_uint32_type, uint32_array_value, FUSEC_U32)
    CLASS(is_uint64_type, uint64_array_value, FUSEC_U64)
    data = look(v.array_value(), keep);
    return FUSEC_F64;
}

std::vector<int64_t> reversed(const dim_vector &d) {
    std::vector<int64_t> shape;
    for (int i = d.ndims(); i-- > 0;) shape.push_back(d(i));
    return shape;
}

octave_value wrap(fusec_lazy *v) {
    return octave_value(new octave_fusec(v));
}

octave_value from_array(const octave_value &v) {
    held *h = new held;
    const void *data = nullptr;
    fusec_tensor t = fusec_tensor();
    t.dtype = memory(v, h->array, data);
    const std::vector<int64_t> shape = reversed(v.dims());
    t.data = const_cast<void *>(data);
    t.shape = shape.data();
    t.rank = (int32_t)shape.size();
    fusec_lazy *out = nullptr;
    const fusec_status s = fusec_lazy_from(context(), &t, release, h, &out);
    if (s) delete h;
    check(s);
    return wrap(out);
}


/* An array of Octave for results, and where its elements are. */
template <class Fill> octave_value made(fusec_dtype t, const dim_vector &d, const Fill &fill) {
#define MAKE(dtype, type)                                                                          \
    case dtype: {                                                                                  \
        type a(d);                                                                                 \
        fill(a.fortran_vec(), (size_t)a.numel() * sizeof *a.data());                               \
        return octave_value(a);                                                                    \
    }
    switch (t) {
        MAKE(FUSEC_BOOL, boolNDArray)
        MAKE(FUSEC_I8, int8NDArray)
        MAKE(FUSEC_I16, int16NDArray)
        MAKE(FUSEC_I32, int32NDArray)
        MAKE(FUSEC_I64, int64NDArray)
        MAKE(FUSEC_U8, uint8NDArray)
        MAKE(FUSEC_U16, uint16NDArray)
        MAKE(FUSEC_U32, uint32NDArray)
        MAKE(FUSEC_U64, uint64NDArray)
        MAKE(FUSEC_F32, FloatNDArray)
        MAKE(FUSEC_F64, NDArray)
        MAKE(FUSEC_C64, FloatComplexNDArray)
        MAKE(FUSEC_C128, ComplexNDArray)
    default: error("fusec: Octave has no class for %s", fusec_dtype_name(t));
    }
}

/* `shape` in the order of Octave; axes that it lacks have length 1. */
dim_vector dims_of(const int64_t *shape, int rank, bool turned) {
    dim_vector d = dim_vector::alloc(rank < 2 ? 2 : rank);
    for (int i = 0; i < d.ndims(); i++) d(i) = i < rank ? shape[turned ? rank - 1 - i : i] : 1;
    d.chop_trailing_singletons();
    return d;
}

octave_value read(fusec_lazy *v) {
    const dim_vector d = dims_of(fusec_lazy_shape(v), fusec_lazy_rank(v), true);
    return made(fusec_lazy_dtype(v), d,
                [v](void *data, size_t bytes) { check(fusec_lazy_read(v, data, bytes)); });
}

/* ---- operations --------------------------------------------------------------------------------- */

/* A value while an expression is made: given back when it goes. */
struct lazy {
    fusec_lazy *v = nullptr;
    lazy() {}
    explicit lazy(fusec_lazy *x) : v(x) {}
    lazy(lazy &&o) : v(o.v) { o.v = nullptr; }
    lazy &operator=(lazy &&o) {
        std::swap(v, o.v);
        return *this;
    }
    ~lazy() { fusec_lazy_release(v); }
    fusec_dtype dtype() const { return fusec_lazy_dtype(v); }
    fusec_lazy *take() {
        fusec_lazy *x = v;
        v = nullptr;
        return x;
    }
};

lazy apply(const char *name, std::vector<fusec_lazy *> operands, const fusec_attr *a = nullptr) {
    const int op = fusec_op_find(name);
    if (op < 0) error("fusec: there is no operation %s", name);
    lazy out;
    check(fusec_lazy_op(context(), op, (int)operands.size(), operands.data(), a, &out.v));
    return out;
}

lazy cast(lazy x, fusec_dtype t) {
    fusec_attr a = FUSEC_ATTR_INIT;
    if (x.dtype() == t) return x;
    a.dtype = t;
    return apply("cast", {x.v}, &a);
}

bool is_integer(fusec_dtype t) {
    return t >= FUSEC_I8 && t <= FUSEC_U64;
}
bool is_complex(fusec_dtype t) {
    return t == FUSEC_C64 || t == FUSEC_C128;
}

/* A scalar of Octave is a number, not an array: it costs no memory, and another one no new plan. */
lazy operand(const octave_value &v) {
    lazy out;
    if (as_ref(v)) {
        out.v = lazy_of(v);
        fusec_lazy_retain(out.v);
    } else if (v.is_real_scalar() && (v.is_double_type() || v.is_single_type())) {
        check(fusec_lazy_number(context(), v.is_single_type() ? FUSEC_F32 : FUSEC_F64,
                                v.double_value(), &out.v));
    } else {
        const octave_value ref = from_array(v);
        out.v = lazy_of(ref);
        fusec_lazy_retain(out.v);
    }
    return out;
}

/* Octave's rule: an integer class wins, then single, then double; logicals count as double. */
fusec_dtype joined(fusec_dtype a, fusec_dtype b) {
    if (a == FUSEC_BOOL) a = FUSEC_F64;
    if (b == FUSEC_BOOL) b = FUSEC_F64;
    if (is_integer(a) && is_integer(b) && a != b)
        error("fusec: operands of classes %s and %s", fusec_dtype_name(a), fusec_dtype_name(b));
    if (is_integer(a) || is_integer(b)) return is_integer(a) ? a : b;
    const bool narrow = a == FUSEC_F32 || b == FUSEC_F32 || a == FUSEC_C64 || b == FUSEC_C64;
    if (is_complex(a) || is_complex(b)) return narrow ? FUSEC_C64 : FUSEC_C128;
    return narrow ? FUSEC_F32 : FUSEC_F64;
}

/* Halves away from 0, then what the class can hold, as Octave's arithmetic of integers does. */
lazy to_integer(lazy x, fusec_dtype t) {
    lazy half;
    check(fusec_lazy_number(context(), FUSEC_F64, 0.5, &half.v));
    lazy away = apply("copysign", {half.v, x.v});
    return cast(apply("add", {x.v, away.v}), t);
}

bool is_single_element(const lazy &x) {
    return fusec_lazy_rank(x.v) == 0;
}

std::string words_of(const lazy &x) {
    return dims_of(fusec_lazy_shape(x.v), fusec_lazy_rank(x.v), true).str();
}

/* Messages about shapes are made here, as fusec would count the axes from the other end. */
void check_shapes(const char *name, const std::vector<lazy> &x) {
    const lazy *widest = &x[0];
    for (const lazy &v : x)
        if (fusec_lazy_rank(v.v) > fusec_lazy_rank(widest->v)) widest = &v;
    const int rank = fusec_lazy_rank(widest->v);
    for (const lazy &a : x)
        for (const lazy &b : x)
            for (int k = 1; k <= rank; k++) {
                const int ra = fusec_lazy_rank(a.v), rb = fusec_lazy_rank(b.v);
                if (k > ra || k > rb) break;
                const int64_t n = fusec_lazy_shape(a.v)[ra - k], m = fusec_lazy_shape(b.v)[rb - k];
                if (n != m && n != 1 && m != 1)
                    error_with_id("fusec:shape-mismatch",
                                  "fusec: %s: nonconformant operands, %s and %s", name,
                                  words_of(a).c_str(), words_of(b).c_str());
            }
}

/* Elementwise operations. kind: 'n' numbers, 'c' comparisons, 'f' functions of floats, 'b' logical,
 * 'i' bits, 's' a condition and two numbers. */
lazy elementwise(const char *name, char kind, std::vector<lazy> x) {
    const size_t first = kind == 's' ? 1 : 0;
    std::vector<fusec_lazy *> p;
    check_shapes(name, x);
    if (kind == 's') x[0] = cast(std::move(x[0]), FUSEC_BOOL);
    if (kind == 'b') {
        for (lazy &v : x) v = cast(std::move(v), FUSEC_BOOL);
    } else {
        fusec_dtype t = x[first].dtype();
        if (t == FUSEC_BOOL && kind != 'c' && kind != 'i') t = FUSEC_F64;
        for (size_t i = first + 1; i < x.size(); i++)
            if (kind == 'i' && is_integer(t) && is_single_element(x[i]))
                continue; /* bitand(x, 7) */
            else if (t != x[i].dtype() || kind == 'n')
                t = joined(t, x[i].dtype());
        if (kind == 'f' && is_integer(t)) t = FUSEC_F64;
        const fusec_dtype result = t;
        /* in f64, which holds these integers: as Octave computes, with its rounding at the end */
        const bool wide = kind == 'n' && is_integer(t) && t != FUSEC_I64 && t != FUSEC_U64;
        if (wide) t = FUSEC_F64;
        for (size_t i = first; i < x.size(); i++) x[i] = cast(std::move(x[i]), t);
        for (lazy &v : x) p.push_back(v.v);
        lazy y = apply(name, p);
        return wide ? to_integer(std::move(y), result) : std::move(y);
    }
    for (lazy &v : x) p.push_back(v.v);
    return apply(name, p);
}

std::vector<lazy> operands(const octave_value_list &args, int from) {
    std::vector<lazy> x;
    for (int i = from; i < args.length(); i++) x.push_back(operand(args(i)));
    return x;
}

/* ("map", name, kind, operands...) */
octave_value_list map(const octave_value_list &args) {
    const std::string name = args(1).string_value(), kind = args(2).string_value();
    return wrap(elementwise(name.c_str(), kind[0], operands(args, 3)).take());
}

/* ("fold", name, axes from 1 on, operand): reductions keep their axes; also scans, which have one. */
octave_value_list fold(const octave_value_list &args) {
    const std::string name = args(1).string_value();
    const NDArray list = args(2).array_value();
    lazy x = operand(args(3));
    const int rank = fusec_lazy_rank(x.v);
    std::vector<int64_t> axes;
    for (octave_idx_type i = 0; i < list.numel(); i++)
        if (list(i) <= rank) axes.push_back(-(int64_t)list(i)); /* along others there is 1 element */
    if (axes.empty() && rank == 0) return wrap(x.take());
    fusec_attr a = FUSEC_ATTR_INIT;
    const int64_t one = 1;
    if (axes.empty()) { /* an axis behind the last one: of length 1 */
        std::vector<int64_t> shape(fusec_lazy_shape(x.v), fusec_lazy_shape(x.v) + rank);
        shape.insert(shape.begin(), one);
        a.shape = shape.data();
        a.rank = rank + 1;
        x = apply("reshape", {x.v}, &a);
        a = FUSEC_ATTR_INIT;
        axes.push_back(0);
    }
    a.keepdims = 1;
    a.naxes = (int32_t)axes.size();
    a.axes = axes.data();
    return wrap(apply(name.c_str(), {x.v}, &a).take());
}

/* ("matmul", a, b): with the axes in the other order the factors are, too. */
octave_value_list product(const octave_value_list &args) {
    lazy a = operand(args(1)), b = operand(args(2));
    const fusec_dtype t = joined(a.dtype(), b.dtype());
    a = cast(std::move(a), t);
    b = cast(std::move(b), t);
    if (fusec_lazy_rank(a.v) != 2 || fusec_lazy_rank(b.v) != 2 ||
        fusec_lazy_shape(a.v)[0] != fusec_lazy_shape(b.v)[1])
        error_with_id("fusec:shape-mismatch", "fusec: *: nonconformant operands, %s and %s",
                      words_of(a).c_str(), words_of(b).c_str());
    return wrap(apply("matmul", {b.v, a.v}).take());
}

octave_value_list transposed(const octave_value_list &args) {
    lazy x = operand(args(1));
    if (fusec_lazy_rank(x.v) > 2) error("fusec: transpose is of matrices");
    return wrap(apply("permute", {x.v}).take());
}

octave_value_list reshaped(const octave_value_list &args) {
    lazy x = operand(args(1));
    const NDArray n = args(2).array_value();
    std::vector<int64_t> shape;
    for (octave_idx_type i = n.numel(); i-- > 0;) shape.push_back((int64_t)n(i));
    fusec_attr a = FUSEC_ATTR_INIT;
    a.shape = shape.data();
    a.rank = (int32_t)shape.size();
    return wrap(apply("reshape", {x.v}, &a).take());
}

octave_value_list converted(const octave_value_list &args) {
    const std::string name = args(2).string_value();
    lazy x = operand(args(1));
    for (int t = 0; t <= FUSEC_C128; t++) {
        if (name != fusec_dtype_name((fusec_dtype)t)) continue;
        if (is_integer((fusec_dtype)t) && (x.dtype() == FUSEC_F32 || x.dtype() == FUSEC_F64))
            return wrap(to_integer(cast(std::move(x), FUSEC_F64), (fusec_dtype)t).take());
        return wrap(cast(std::move(x), (fusec_dtype)t).take());
    }
    error("fusec: there is no dtype %s", name.c_str());
}

/* ---- the language ------------------------------------------------------------------------------- */

/* A graph for one evaluation. */
struct graph {
    fusec_graph *g = nullptr;
    graph() { check(fusec_graph_new(context(), &g)); }
    ~graph() { fusec_graph_free(g); }
};

/* A scalar is a number, a column one axis, all else has its axes in the order of Octave. */
fusec_value bound(fusec_graph *g, const octave_value &v, keeper &keep) {
    if (v.is_real_scalar() && v.is_double_type()) return fusec_num(v.double_value());
    const void *data = nullptr;
    if (as_ref(v)) return bound(g, read(lazy_of(v)), keep);
    const fusec_dtype t = memory(v, keep, data);
    std::vector<int64_t> shape = reversed(v.dims());
    if (v.numel() == 1) shape.clear();
    if (shape.size() == 2 && shape[0] == 1) shape.erase(shape.begin());
    const fusec_value x = fusec_array(g, t, (int)shape.size(), shape.data(), data);
    return shape.size() > 1 ? fusec_transpose(x, nullptr) : x;
}

octave_value result(fusec_value v) {
    const int rank = fusec_rank(v);
    std::vector<int64_t> shape(rank < 1 ? 1 : (size_t)rank);
    const fusec_value y = rank > 1 ? fusec_transpose(v, nullptr) : v;
    check(fusec_shape(v, shape.data()));
    return made(fusec_dtype_of(v), dims_of(shape.data(), rank < 0 ? 0 : rank, false),
                [y](void *data, size_t bytes) { check(fusec_read(y, data, bytes)); });
}

/* ("eval", module or [], text, names, values, number of results) */
octave_value_list eval_text(const octave_value_list &args) {
    const octave_fusec *m = as_ref(args(1));
    const std::string text = args(2).string_value();
    const Cell names = args(3).cell_value(), values = args(4).cell_value();
    const int n = (int)names.numel(), count = args(5).int_value();
    if (values.numel() != n) error("fusec: each name needs a value");
    graph g;
    std::vector<std::string> words;
    std::vector<const char *> name;
    std::vector<keeper> keep((size_t)n);
    std::vector<fusec_value> value, results((size_t)count);
    for (int i = 0; i < n; i++) words.push_back(names(i).string_value());
    for (int i = 0; i < n; i++) {
        name.push_back(words[(size_t)i].c_str());
        value.push_back(bound(g.g, values(i), keep[(size_t)i]));
    }
    check(fusec_module_expr(m ? m->module : nullptr, g.g, text.c_str(), n, name.data(),
                            value.data(), count, results.data()));
    for (fusec_value &v : results) /* a number alone has no dtype */
        if (fusec_dtype_of(v) == FUSEC_NO_DTYPE) v = fusec_add(v, fusec_const(g.g, FUSEC_F64, 0));
    std::vector<fusec_value> turned = results;
    for (fusec_value &v : turned)
        if (fusec_rank(v) > 1) v = fusec_transpose(v, nullptr);
    check(fusec_eval(turned.data(), count)); /* one plan for all */
    octave_value_list out;
    for (const fusec_value &v : results) out.append(result(v));
    return out;
}

octave_value_list parse(const octave_value_list &args) {
    const bool file = args(1).string_value() == "file";
    const std::string text = args(2).string_value();
    fusec_module *m = nullptr;
    if (file)
        check(fusec_parse_file(context(), text.c_str(), 0, nullptr, &m));
    else
        check(fusec_parse(context(), nullptr, text.c_str(), &m));
    return octave_value(new octave_fusec(m));
}

octave_value_list definitions(const octave_value_list &args) {
    const octave_fusec *m = as_ref(args(1));
    if (!m || !m->module) error("fusec: a text is expected");
    Cell names(dim_vector(1, fusec_module_count(m->module)));
    for (int i = 0; i < fusec_module_count(m->module); i++)
        names(i) = octave_value(fusec_module_name(m->module, i));
    return octave_value(names);
}

/* ---- the rest ------------------------------------------------------------------------------------ */

octave_value_list sizes(const octave_value_list &args) {
    fusec_lazy *v = lazy_of(args(1));
    const dim_vector d = dims_of(fusec_lazy_shape(v), fusec_lazy_rank(v), true);
    NDArray out(dim_vector(1, d.ndims()));
    for (int i = 0; i < d.ndims(); i++) out(i) = d(i);
    return octave_value(out);
}

octave_value_list counters() {
    fusec_counters c = FUSEC_COUNTERS_INIT;
    const char *device = "";
    check(fusec_device(context(), &device, nullptr));
    check(fusec_get_counters(context(), &c));
    octave_scalar_map out;
    out.assign("device", device);
    out.assign("compiles", (double)c.compiles);
    out.assign("plans", (double)c.plans);
    return octave_value(out);
}

octave_value_list waiting(const octave_value_list &args) {
    return octave_value((double)fusec_lazy_depth(lazy_of(args(1))));
}

octave_value_list from(const octave_value_list &args) {
    return as_ref(args(1)) ? args(1) : from_array(args(1));
}
octave_value_list to_array(const octave_value_list &args) {
    return read(lazy_of(args(1)));
}
octave_value_list dtype(const octave_value_list &args) {
    return octave_value(fusec_dtype_name(fusec_lazy_dtype(lazy_of(args(1)))));
}
octave_value_list count(const octave_value_list &) {
    return counters();
}

const struct {
    const char *name;
    int arguments; /* at least, besides the name */
    octave_value_list (*run)(const octave_value_list &);
} commands[] = {{"map", 3, map},           {"fold", 3, fold},         {"from", 1, from},
                {"read", 1, to_array},     {"size", 1, sizes},        {"dtype", 1, dtype},
                {"matmul", 2, product},    {"transpose", 1, transposed}, {"reshape", 2, reshaped},
                {"cast", 2, converted},    {"eval", 5, eval_text},    {"parse", 2, parse},
                {"names", 1, definitions}, {"depth", 1, waiting},     {"counters", 0, count}};

} // namespace

DEFUN_DLD(__fusec__, args, , "__fusec__ (COMMAND, ...): what the class fusec is made of.") {
    static bool ready = false;
    if (!ready) {
        octave_fusec::register_type();
        octave::interpreter::the_interpreter()->mlock();
        ready = true;
    }
    const std::string name = args.length() ? args(0).xstring_value("fusec: no command") : "";
    for (const auto &c : commands) {
        if (name != c.name) continue;
        if (args.length() <= c.arguments) error("fusec: %s needs more arguments", c.name);
        return c.run(args);
    }
    error("fusec: there is no command %s", name.c_str());
}
