/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fusec.xs - the part of the Perl package that is compiled: arrays, operations, texts of the language.
 *
 * In: packed strings, numbers, objects of Fusec::Array (a reference to a number that is the address of
 * a fusec_lazy). Out: such objects, packed strings. lib/Fusec.pm makes of it what a program sees.
 * A value keeps the string that it lies in, which Perl shares with the caller's until one is changed. */
#define PERL_NO_GET_CONTEXT
#include <EXTERN.h>
#include <perl.h>
#include <XSUB.h>
#include <fusec/fusec.h>

static fusec_context *the_context; /* for the process */

/* Ends the statement with the place in the caller's program, not the one in Fusec.pm. */
static void fail(pTHX_ SV *text) {
    dSP;
    PUSHMARK(SP);
    XPUSHs(sv_2mortal(text));
    PUTBACK;
    call_pv("Carp::croak", G_VOID);
}

static void check(pTHX_ fusec_status s) {
    if (s)
        fail(aTHX_ newSVpvf("fusec: %s [%s]", fusec_message(the_context), fusec_status_name(s)));
}

static fusec_context *context(pTHX) {
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.default_float = FUSEC_F64; /* numbers of Perl are doubles */
    if (!the_context) check(aTHX_ fusec_context_new(&o, &the_context));
    return the_context;
}

static SV *object(pTHX_ void *p, const char *package) {
    return sv_setref_iv(newSV(0), package, PTR2IV(p));
}

static void *address(pTHX_ SV *sv, const char *package) {
    if (!sv_isobject(sv) || !sv_derived_from(sv, package)) croak("fusec: %s is expected", package);
    return INT2PTR(void *, SvIV(SvRV(sv)));
}

static int is_array(pTHX_ SV *sv) {
    return sv_isobject(sv) && sv_derived_from(sv, "Fusec::Array");
}

static fusec_dtype dtype_of(pTHX_ const char *name) {
    for (int t = 0; t <= FUSEC_C128; t++)
        if (strEQ(name, fusec_dtype_name((fusec_dtype)t))) return (fusec_dtype)t;
    croak("fusec: there is no dtype %s", name);
}

/* The numbers of a list; freed with the statement that is running. */
static int64_t *numbers(pTHX_ SV *list, int *n) {
    if (!SvROK(list) || SvTYPE(SvRV(list)) != SVt_PVAV) croak("fusec: a list of numbers is expected");
    AV *av = (AV *)SvRV(list);
    *n = (int)(av_len(av) + 1);
    int64_t *out = (int64_t *)SvPVX(sv_2mortal(newSV((STRLEN)(*n + 1) * sizeof *out)));
    for (int i = 0; i < *n; i++) {
        SV **e = av_fetch(av, i, 0);
        out[i] = e ? (int64_t)SvIV(*e) : 0;
    }
    return out;
}

static void drop(void *sv) {
    dTHX;
    SvREFCNT_dec((SV *)sv);
}

static size_t elements(const int64_t *shape, int rank) {
    size_t n = 1;
    for (int i = 0; i < rank; i++) n *= (size_t)shape[i];
    return n;
}

static SV *bytes_of(pTHX_ fusec_lazy *v) {
    const size_t n = elements(fusec_lazy_shape(v), fusec_lazy_rank(v)) *
                     fusec_dtype_bytes(fusec_lazy_dtype(v));
    SV *out = newSV(n + 1);
    const fusec_status s = fusec_lazy_read(v, SvPVX(out), n);
    if (s) {
        SvREFCNT_dec(out);
        check(aTHX_ s);
    }
    SvPVX(out)[n] = 0;
    SvCUR_set(out, n);
    SvPOK_only(out);
    return out;
}

/* A name of a text: an array as it is, a number as one. */
static fusec_value bound(pTHX_ fusec_graph *g, SV *sv, SV **keep) {
    *keep = NULL;
    if (!is_array(aTHX_ sv)) return SvIOK(sv) ? fusec_int((int64_t)SvIV(sv)) : fusec_num(SvNV(sv));
    fusec_lazy *v = address(aTHX_ sv, "Fusec::Array");
    *keep = sv_2mortal(bytes_of(aTHX_ v));
    return fusec_array(g, fusec_lazy_dtype(v), fusec_lazy_rank(v), fusec_lazy_shape(v),
                       SvPVX(*keep));
}

static void free_graph(pTHX_ void *g) {
    fusec_graph_free(g);
}

MODULE = Fusec  PACKAGE = Fusec

PROTOTYPES: DISABLE

SV *
_from(SV *data, const char *dtype, SV *shape)
  CODE:
    int rank;
    STRLEN len;
    fusec_tensor t = {0};
    fusec_lazy *out = NULL;
    t.dtype = dtype_of(aTHX_ dtype);
    t.shape = numbers(aTHX_ shape, &rank);
    t.rank = rank;
    if (SvUTF8(data)) croak("fusec: a packed string is expected, not one of characters");
    SV *mine = newSVsv(data);
    t.data = SvPV(mine, len);
    if (len != elements(t.shape, rank) * fusec_dtype_bytes(t.dtype)) {
        SvREFCNT_dec(mine);
        croak("fusec: %lu bytes, but the shape needs %lu", (unsigned long)len,
              (unsigned long)(elements(t.shape, rank) * fusec_dtype_bytes(t.dtype)));
    }
    const fusec_status s = fusec_lazy_from(context(aTHX), &t, drop, mine, &out);
    if (s) SvREFCNT_dec(mine);
    check(aTHX_ s);
    RETVAL = object(aTHX_ out, "Fusec::Array");
  OUTPUT:
    RETVAL

SV *
_number(SV *v, const char *dtype)
  CODE:
    fusec_lazy *out = NULL;
    const fusec_dtype t = dtype_of(aTHX_ dtype);
    if (SvIOK(v))
        check(aTHX_ fusec_lazy_integer(context(aTHX), t, (int64_t)SvIV(v), &out));
    else
        check(aTHX_ fusec_lazy_number(context(aTHX), t, SvNV(v), &out));
    RETVAL = object(aTHX_ out, "Fusec::Array");
  OUTPUT:
    RETVAL

SV *
_op(const char *name, HV *attributes, ...)
  CODE:
    fusec_attr a = FUSEC_ATTR_INIT;
    fusec_lazy *in[64], *out = NULL;
    const int op = fusec_op_find(name), n = (int)items - 2;
    int count;
    SV **e;
    if (op < 0) croak("fusec: there is no operation %s", name);
    if (n > 64) croak("fusec: at most 64 operands");
    for (int i = 0; i < n; i++) in[i] = address(aTHX_ ST(i + 2), "Fusec::Array");
    if ((e = hv_fetchs(attributes, "dtype", 0))) a.dtype = dtype_of(aTHX_ SvPV_nolen(*e));
    if ((e = hv_fetchs(attributes, "keepdims", 0))) a.keepdims = SvTRUE(*e);
    if ((e = hv_fetchs(attributes, "mode", 0))) a.mode = (uint32_t)SvUV(*e);
    if ((e = hv_fetchs(attributes, "text", 0))) a.text = SvPV_nolen(*e);
    if ((e = hv_fetchs(attributes, "axes", 0)) && SvOK(*e)) {
        a.axes = numbers(aTHX_ *e, &count);
        a.naxes = count;
    }
    if ((e = hv_fetchs(attributes, "start", 0))) {
        a.start = numbers(aTHX_ *e, &count);
        a.rank = count;
    }
    if ((e = hv_fetchs(attributes, "step", 0))) a.step = numbers(aTHX_ *e, &count);
    if ((e = hv_fetchs(attributes, "shape", 0))) {
        a.shape = numbers(aTHX_ *e, &count);
        a.rank = count;
    }
    check(aTHX_ fusec_lazy_op(context(aTHX), op, n, in, &a, &out));
    RETVAL = object(aTHX_ out, "Fusec::Array");
  OUTPUT:
    RETVAL

SV *
_parse(const char *what, const char *text)
  CODE:
    fusec_module *m = NULL;
    if (strEQ(what, "file"))
        check(aTHX_ fusec_parse_file(context(aTHX), text, 0, NULL, &m));
    else
        check(aTHX_ fusec_parse(context(aTHX), NULL, text, &m));
    RETVAL = object(aTHX_ m, "Fusec::Text");
  OUTPUT:
    RETVAL

void
_evaluate(SV *module, const char *text, AV *names, AV *values, int count)
  PPCODE:
    fusec_module *m = SvOK(module) ? address(aTHX_ module, "Fusec::Text") : NULL;
    const int n = (int)(av_len(names) + 1);
    fusec_value v[64], r[64];
    const char *name[64];
    fusec_graph *g = NULL;
    if (n > 64 || count < 1 || count > 64 || n != av_len(values) + 1)
        croak("fusec: names and values come in pairs, 64 at most");
    check(aTHX_ fusec_graph_new(context(aTHX), &g));
    SAVEDESTRUCTOR_X(free_graph, g);
    for (int i = 0; i < n; i++) {
        SV *keep;
        name[i] = SvPV_nolen(*av_fetch(names, i, 0));
        v[i] = bound(aTHX_ g, *av_fetch(values, i, 0), &keep);
    }
    check(aTHX_ fusec_module_expr(m, g, text, n, name, v, count, r));
    for (int i = 0; i < count; i++)
        if (fusec_dtype_of(r[i]) == FUSEC_NO_DTYPE)
            r[i] = fusec_add(r[i], fusec_const(g, FUSEC_F64, 0));
    check(aTHX_ fusec_eval(r, count));
    EXTEND(SP, count);
    for (int i = 0; i < count; i++) {
        int64_t shape[64];
        fusec_tensor t = {0};
        fusec_lazy *out = NULL;
        check(aTHX_ fusec_shape(r[i], shape));
        t.rank = fusec_rank(r[i]);
        t.shape = shape;
        t.dtype = fusec_dtype_of(r[i]);
        const size_t bytes = elements(shape, t.rank) * fusec_dtype_bytes((fusec_dtype)t.dtype);
        SV *mine = newSV(bytes + 1);
        SvPOK_only(mine);
        SvCUR_set(mine, bytes);
        t.data = SvPVX(mine);
        fusec_status s = fusec_read(r[i], t.data, bytes);
        if (!s) s = fusec_lazy_from(context(aTHX), &t, drop, mine, &out);
        if (s) SvREFCNT_dec(mine);
        check(aTHX_ s);
        PUSHs(sv_2mortal(object(aTHX_ out, "Fusec::Array")));
    }

HV *
counters()
  CODE:
    fusec_counters c = FUSEC_COUNTERS_INIT;
    const char *device = "";
    check(aTHX_ fusec_device(context(aTHX), &device, NULL));
    check(aTHX_ fusec_get_counters(context(aTHX), &c));
    RETVAL = (HV *)sv_2mortal((SV *)newHV());
    hv_stores(RETVAL, "device", newSVpv(device, 0));
    hv_stores(RETVAL, "compiles", newSVuv(c.compiles));
    hv_stores(RETVAL, "plans", newSVuv(c.plans));
  OUTPUT:
    RETVAL

const char *
version()
  CODE:
    RETVAL = fusec_version();
  OUTPUT:
    RETVAL

MODULE = Fusec  PACKAGE = Fusec::Array

void
DESTROY(SV *self)
  CODE:
    fusec_lazy_release(INT2PTR(fusec_lazy *, SvIV(SvRV(self))));

SV *
packed(SV *self, ...)
  CODE:
    RETVAL = bytes_of(aTHX_ address(aTHX_ self, "Fusec::Array"));
  OUTPUT:
    RETVAL

const char *
dtype(SV *self, ...)
  CODE:
    RETVAL = fusec_dtype_name(fusec_lazy_dtype(address(aTHX_ self, "Fusec::Array")));
  OUTPUT:
    RETVAL

int
depth(SV *self, ...)
  CODE:
    RETVAL = (int)fusec_lazy_depth(address(aTHX_ self, "Fusec::Array"));
  OUTPUT:
    RETVAL

void
shape(SV *self, ...)
  PPCODE:
    fusec_lazy *v = address(aTHX_ self, "Fusec::Array");
    for (int i = 0; i < fusec_lazy_rank(v); i++) mXPUSHi((IV)fusec_lazy_shape(v)[i]);

MODULE = Fusec  PACKAGE = Fusec::Text

void
DESTROY(SV *self)
  CODE:
    fusec_module_free(INT2PTR(fusec_module *, SvIV(SvRV(self))));

void
names(SV *self)
  PPCODE:
    fusec_module *m = address(aTHX_ self, "Fusec::Text");
    for (int i = 0; i < fusec_module_count(m); i++)
        mXPUSHs(newSVpv(fusec_module_name(m, i), 0));
