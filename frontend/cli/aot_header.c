/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot_header.c - what C sees of a definition: its prototype and the words above it, the function of
 * the object behind it, its record in the description. */
#include "frontend/cli/aot.h"
#include "frontend/io/array.h"
#include "ir/version.h"

/* ---- names ----------------------------------------------------------------------------------- */

/* Words of C and C++, and those that the interface itself uses. */
static bool is_taken(const char *name) {
    static const char *const words[] = {
        "auto",      "break",    "case",     "char",     "class",    "const",     "continue",
        "default",   "delete",   "do",       "double",   "else",     "enum",      "env",
        "extern",    "false",    "float",    "for",      "friend",   "goto",      "if",
        "inline",    "int",      "int16_t",  "int32_t",  "int64_t",  "int8_t",    "long",
        "namespace", "new",      "operator", "outer",    "private",  "protected", "public",
        "register",  "restrict", "return",   "short",    "signed",   "sizeof",    "static",
        "stream",    "struct",   "switch",   "template", "this",     "throw",     "true",
        "try",       "typedef",  "typename", "uint16_t", "uint32_t", "uint64_t",  "uint8_t",
        "union",     "unsigned", "using",    "virtual",  "void",     "volatile",  "while",
        "bool",      "and",      "or",       "not",      "xor",      "catch",     "asm",
        "cuda",      "scratch",  "bytes",    "size_t"};
    for (size_t i = 0; i < FC_COUNT(words); i++)
        if (!strcmp(words[i], name)) return true;
    return false;
}

static void add_name(fc_str *out, const char *name, const char *end) {
    fc_str_printf(out, "%s%s%s", name, end, is_taken(name) ? "_" : "");
}

/* "..." is all leading axes together. */
static const char *size_name(const char *name) {
    return strcmp(name, "...") ? name : "outer";
}

static void add_size(fc_str *out, const char *name) {
    if (strcmp(name, "...") == 0)
        fc_str_add(out, "outer");
    else
        add_name(out, name, "");
}

static bool is_parameter(const fc_job *s, const char *name) {
    for (uint32_t i = 0; i < s->lang.param_count; i++)
        if (!strcmp(s->lang.params[i].name, name)) return true;
    return false;
}

/* ---- the prototype --------------------------------------------------------------------------- */

static fc_node input_node(const fc_job *s, uint32_t i) {
    return s->graph.inputs.at[i].node;
}

/* Complex numbers are pairs, as C and C++ have no type for them that both take. */
static const char *c_type(const fc_job *s, fc_node n) {
    const fusec_dtype t = (fusec_dtype)fc_at(&s->graph, n)->dtype;
    if (fc_dtypes[t].kind == FC_KIND_COMPLEX) return fc_dtypes[t].bytes == 8 ? "float" : "double";
    return fc_dtypes[t].c;
}

static bool by_value(const fc_job *s, fc_node n) {
    return fc_rank(&s->graph, n) == 0 &&
           fc_dtypes[fc_at(&s->graph, n)->dtype].kind != FC_KIND_COMPLEX;
}

static void add_sizes(const fc_job *s, fc_str *out) {
    uint32_t sym[64];
    const uint32_t nsizes = fc_aot_sizes(s, sym, FC_COUNT(sym));
    for (uint32_t i = 0; i < nsizes && i < FC_COUNT(sym); i++) {
        fc_str_add(out, ", int64_t ");
        add_size(out, s->graph.dims.syms.at[sym[i]].name);
    }
}

static void add_arrays(const fc_job *s, fc_str *out) {
    for (size_t i = 0; i < s->graph.inputs.len; i++) {
        const fc_node n = input_node(s, (uint32_t)i);
        const bool scalar = by_value(s, n);
        fc_str_printf(out, ", %s%s ", scalar ? "" : "const ", c_type(s, n));
        if (!scalar) fc_str_char(out, '*');
        add_name(out, s->graph.inputs.at[i].name, "");
    }
    for (size_t i = 0; i < s->graph.outputs.len; i++) {
        const char *r = s->graph.outputs.at[i].name;
        fc_str_printf(out, ", %s *", c_type(s, s->graph.outputs.at[i].node));
        add_name(out, r, is_parameter(s, r) ? "_out" : "");
    }
}

/* Those of the CPU, then, where there is code for them, of GPUs. */
static void prototypes(const fc_aot *a, const fc_job *s, const char *name, fc_str *out) {
    fc_str_printf(out, "int %s(const %s_env *env", name, a->prefix);
    add_sizes(s, out);
    add_arrays(s, out);
    fc_str_add(out, ");\n");
    if (!a->ngpus) return;
    fc_str_printf(out, "int %s_cuda(%s_cuda *cuda, void *stream", name, a->prefix);
    add_sizes(s, out);
    add_arrays(s, out);
    fc_str_printf(out, ", void *scratch);\nint %s_cuda_scratch(%s_cuda *cuda", name, a->prefix);
    add_sizes(s, out);
    fc_str_add(out, ", size_t *bytes);\n");
}

/* The comment lines above the definition, without their marks. */
static void documentation(const fc_item *def, const fc_source *src, fc_str *out) {
    for (uint32_t at = def->doc.begin; at < def->doc.end;) {
        uint32_t end = at;
        while (end < def->doc.end && src->text[end] != '\n') end++;
        uint32_t from = at;
        while (from < end && (src->text[from] == ' ' || src->text[from] == '#')) from++;
        fc_str_add(out, from < end ? " * " : " *");
        for (uint32_t i = from; i < end; i++) /* it may not end the comment */
            fc_str_char(out, src->text[i] == '/' && i > from && src->text[i - 1] == '*'
                                 ? '|'
                                 : src->text[i]);
        fc_str_char(out, '\n');
        at = end + 1;
    }
}

static void words(const fc_aot *a, const fc_job *s, const fc_item *def, size_t checks,
                  fc_str *out) {
    fc_str title;
    uint32_t sym[64];
    const uint32_t n = fc_aot_sizes(s, sym, FC_COUNT(sym));
    bool outer = false;
    for (uint32_t i = 0; i < n && i < FC_COUNT(sym); i++)
        outer |= !strcmp(s->graph.dims.syms.at[sym[i]].name, "...");
    fc_str_init(&title, a->alloc);
    fc_job_title(s, &title);
    fc_str_printf(out, "\n/* %s\n", title.data);
    documentation(def, s->program.src, out);
    if (outer) fc_str_add(out, " * outer: the product of the leading axes.\n");
    if (checks && a->ngpus)
        fc_str_printf(
            out,
            " * An index outside its array: of the first %zu 64-bit words of scratch, some "
            "is not 0 when the\n * work on the GPU is done.\n",
            2 * checks);
    fc_str_add(out, " */\n");
    fc_str_free(&title);
}

/* ---- the function behind it ------------------------------------------------------------------ */

static const char *ir_type(fusec_dtype t) {
    switch (fc_dtypes[t].bytes) {
    case 1: return "i8";
    case 2: return "i16";
    case 4: return t == FUSEC_F32 ? "float" : "i32";
    default: return t == FUSEC_F64 ? "double" : "i64";
    }
}

/* ", i64 %n0, i64 %n1" */
static void size_parameters(fc_str *f, uint32_t nsizes) {
    for (uint32_t i = 0; i < nsizes; i++) fc_str_printf(f, ", i64 %%n%u", i);
}

/* The body up to here puts the sizes into an array. */
static void store_sizes(fc_str *f, uint32_t nsizes) {
    fc_str_printf(f, ") {\n  %%sizes = alloca [%u x i64], align 16\n", nsizes + 1);
    for (uint32_t i = 0; i < nsizes; i++)
        fc_str_printf(f,
                      "  %%p%u = getelementptr i64, ptr %%sizes, i64 %u\n"
                      "  store i64 %%n%u, ptr %%p%u, align 8\n",
                      i, i, i, i);
}

/* Puts sizes and addresses into two arrays; scalars are stored and pointed to. `first` and `last`
 * are the parameters before and after them. */
static void glue(fc_aot *a, const fc_job *s, const char *name, const char *first,
                 const char *last) {
    fc_str *f = &a->functions;
    const uint32_t nsizes = fc_aot_sizes(s, NULL, 0);
    const size_t nin = s->graph.inputs.len, nout = s->graph.outputs.len;
    fc_str_printf(f, "define i32 @%s(%s", name, first);
    size_parameters(f, nsizes);
    for (size_t i = 0; i < nin; i++) {
        const fc_node n = input_node(s, (uint32_t)i);
        fc_str_printf(f, ", %s %%a%zu",
                      by_value(s, n) ? ir_type((fusec_dtype)fc_at(&s->graph, n)->dtype) : "ptr", i);
    }
    for (size_t i = 0; i < nout; i++) fc_str_printf(f, ", ptr %%a%zu", nin + i);
    fc_str_add(f, last);
    store_sizes(f, nsizes);
    fc_str_printf(f, "  %%arrays = alloca [%zu x ptr], align 16\n", nin + nout + 1);
    for (size_t i = 0; i < nin + nout; i++) {
        const bool scalar = i < nin && by_value(s, input_node(s, (uint32_t)i));
        const char *t =
            scalar ? ir_type((fusec_dtype)fc_at(&s->graph, input_node(s, (uint32_t)i))->dtype) : "";
        if (scalar)
            fc_str_printf(f,
                          "  %%s%zu = alloca %s, align 8\n  store %s %%a%zu, ptr %%s%zu, align 8\n",
                          i, t, t, i, i);
        fc_str_printf(f,
                      "  %%q%zu = getelementptr ptr, ptr %%arrays, i64 %zu\n"
                      "  store ptr %%%c%zu, ptr %%q%zu, align 8\n",
                      i, i, scalar ? 's' : 'a', i, i);
    }
}

static void glue_all(fc_aot *a, const fc_job *s, const char *name, const char *cuda,
                     const char *scratch, uint32_t block) {
    fc_str *f = &a->functions;
    glue(a, s, name, "ptr %env", "");
    fc_str_printf(
        f,
        "  %%r = call i32 @fusec_aot_call(ptr @fc.%u, ptr %%env, ptr %%sizes, ptr %%arrays)\n"
        "  ret i32 %%r\n}\n",
        block);
    if (!cuda) return;
    glue(a, s, cuda, "ptr %cuda, ptr %stream", ", ptr %scratch");
    fc_str_printf(f,
                  "  %%r = call i32 @fusec_aot_cuda_call(ptr @fc.%u, ptr %%cuda, ptr %%stream, ptr "
                  "%%sizes, ptr %%arrays, ptr %%scratch)\n  ret i32 %%r\n}\n",
                  block);
    fc_str_printf(f, "define i32 @%s(ptr %%cuda", scratch);
    size_parameters(f, fc_aot_sizes(s, NULL, 0));
    fc_str_add(f, ", ptr %bytes");
    store_sizes(f, fc_aot_sizes(s, NULL, 0));
    fc_str_printf(f,
                  "  %%r = call i32 @fusec_aot_cuda_scratch(ptr @fc.%u, ptr %%cuda, ptr %%sizes, "
                  "ptr %%bytes)\n  ret i32 %%r\n}\n",
                  block);
}

/* ---- the description ------------------------------------------------------------------------- */

static void json_array(const fc_job *s, const char *name, fc_node n, fc_str *out) {
    fc_str_add(out, "{\"name\":");
    fc_json_text(out, name);
    fc_str_printf(out, ",\"dtype\":\"%s\",\"shape\":[", fc_dtypes[fc_at(&s->graph, n)->dtype].name);
    for (uint32_t i = 0; i < fc_rank(&s->graph, n); i++) {
        fc_str dim;
        fc_str_init(&dim, out->alloc);
        fc_dim_print(&s->graph.dims, fc_axis(&s->graph, n, i), &dim);
        fc_str_add(out, i ? "," : "");
        fc_json_text(out, size_name(dim.data));
        fc_str_free(&dim);
    }
    fc_str_add(out, "]}");
}

static void describe(fc_aot *a, const fc_job *s, const char *name, const char *dtype) {
    fc_str *j = &a->json;
    uint32_t sym[64];
    const uint32_t n = fc_aot_sizes(s, sym, FC_COUNT(sym));
    fc_str_printf(j, "%s{\"function\":\"%s\",\"definition\":\"%s\",\"dtype\":", a->count ? "," : "",
                  name, fc_job_name(s));
    if (dtype)
        fc_json_text(j, dtype);
    else
        fc_str_add(j, "null");
    fc_str_add(j, ",\"sizes\":[");
    for (uint32_t i = 0; i < n && i < FC_COUNT(sym); i++) {
        fc_str_add(j, i ? "," : "");
        fc_json_text(j, size_name(s->graph.dims.syms.at[sym[i]].name));
    }
    fc_str_add(j, "],\"inputs\":[");
    for (size_t i = 0; i < s->graph.inputs.len; i++) {
        fc_str_add(j, i ? "," : "");
        json_array(s, s->graph.inputs.at[i].name, input_node(s, (uint32_t)i), j);
    }
    fc_str_add(j, "],\"outputs\":[");
    for (size_t i = 0; i < s->graph.outputs.len; i++) {
        fc_str_add(j, i ? "," : "");
        json_array(s, s->graph.outputs.at[i].name, s->graph.outputs.at[i].node, j);
    }
    fc_str_add(j, "]}");
}

fusec_status fc_aot_function(fc_aot *a, const fc_job *s, const fc_item *def, const char *dtype,
                             uint32_t block, size_t checks, fc_error *e) {
    const char *cuda = NULL, *scratch = NULL;
    const char *kept = fc_aot_name(a, e, "%s_%s%s%s", a->prefix, fc_job_name(s), dtype ? "_" : "",
                                   dtype ? dtype : "");
    if (!kept) return e->code;
    if (a->ngpus) {
        cuda = fc_aot_name(a, e, "%s_cuda", kept);
        scratch = cuda ? fc_aot_name(a, e, "%s_scratch", cuda) : NULL;
        if (!scratch) return e->code;
    }
    words(a, s, def, checks, &a->header);
    prototypes(a, s, kept, &a->header);
    glue_all(a, s, kept, cuda, scratch, block);
    describe(a, s, kept, dtype);
    a->count++;
    return FUSEC_OK;
}

void fc_aot_header_text(const fc_aot *a, fc_str *out) {
    const char *p = a->prefix, *u = a->upper;
    fc_str_printf(
        out,
        "/* %s.h - generated by fusec " FC_VERSION " from %s. Do not edit.\n"
        " *\n"
        " * C99 and C++. Needs neither the fusec library nor a compiler at run time: link %s.o and "
        "libm%s.\n"
        " * Arrays are dense and row-major; sizes count elements. f16 and bf16 are uint16_t, bool "
        "is one\n"
        " * byte. Inputs and results belong to the caller; a result overlaps nothing else.\n"
        " * Every function returns %s_OK or another of these codes, for any sizes, from any "
        "thread:\n"
        " *     ARG      NULL for an array that is not empty, or a processor below what the code "
        "is for\n"
        " *     SHAPE    a negative size, or sizes that do not fit together\n"
        " *     NOMEM    no memory for what is stored between kernels\n"
        " *     INDEX    an index outside its array; the results are not defined */\n",
        p, a->file, p, a->ngpus ? " (and libdl, where the C library lacks dlopen)" : "", u);
    fc_str_printf(
        out,
        "#ifndef %s_H_FUSEC_\n#define %s_H_FUSEC_\n#include <stddef.h>\n#include <stdint.h>\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
        "#define %s_ABI %d\n"
        "int %s_abi(void); /* the %s_ABI of the object that was linked */\n"
        "enum { %s_OK = 0, %s_ARG = 1, %s_SHAPE = 2, %s_NOMEM = 3, %s_NODEVICE = 4, "
        "%s_DRIVER = 5, %s_INDEX = 6 };\n\n",
        u, u, u, FC_AOT_ABI, p, u, u, u, u, u, u, u, u);
    fc_str_printf(
        out,
        "/* Who runs the loops of a call: body(arg, i) for each i below n, in any order, and done "
        "when it\n"
        " * returns. NULL: the calling thread. The results are the same, bit for bit. */\n"
        "typedef struct %s_env {\n    void *ctx;\n"
        "    void (*parallel_for)(void *ctx, int64_t n, void (*body)(void *arg, int64_t i), void "
        "*arg);\n"
        "} %s_env;\n",
        p, p);
    fc_aot_cuda_header(a, out);
    fc_str_addn(out, a->header.data, a->header.len);
    fc_str_add(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    out->oom |= a->header.oom;
}
