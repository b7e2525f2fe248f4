/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot.c - see aot.h: names, levels, and one definition after the other. */
#include "frontend/cli/aot.h"
#include "frontend/cli/emit.h"

#include "ir/version.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/cpuinfo.h"

/* ---- life ------------------------------------------------------------------------------------ */

/* A word of C from the name of a file. */
static char *word_of(const fc_alloc *alloc, const char *text, size_t n, bool upper) {
    char *s = fc_malloc(alloc, n + 2);
    if (!s) return NULL;
    size_t at = 0;
    if (!n || (text[0] >= '0' && text[0] <= '9')) s[at++] = '_';
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        const bool small = c >= 'a' && c <= 'z', big = c >= 'A' && c <= 'Z';
        if (!small && !big && (c < '0' || c > '9')) c = '_';
        s[at++] = upper && small ? (char)(c - 'a' + 'A') : c;
    }
    s[at] = 0;
    return s;
}

static fusec_status add_level(fc_aot *a, const char *name, fc_error *e) {
    static const char *const names[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    fc_aot_target t = {0};
    if (fc_aot_add_gpu(a, name, e)) return FUSEC_OK;
    if (e->code) return e->code;
    for (size_t i = 0; i < FC_COUNT(names); i++)
        if (!strcmp(names[i], name)) t.cpu = names[i];
    if (!t.cpu || !fc_cpu_level(name, &t.vector_bytes, &t.features) || a->nlevels == FC_AOT_LEVELS)
        return fc_fail(
            e, FUSEC_NOT_YET,
            "an object has code for levels of x86-64 and for GPUs, not for %.40s: --arch takes "
            "x86-64, x86-64-v2, x86-64-v3, x86-64-v4, and sm_90 or compute_90, here",
            name);
    int at = a->nlevels++;
    for (; at > 0 && a->levels[at - 1].features < t.features; at--)
        a->levels[at] = a->levels[at - 1];
    a->levels[at] = t;
    return FUSEC_OK;
}

static fusec_status read_levels(fc_aot *a, const char *list, fc_error *e) {
    for (const char *p = list; *p;) {
        char name[40];
        const size_t n = strcspn(p, ",");
        if (n >= sizeof name) return fc_fail(e, FUSEC_USAGE, "--arch %.60s", p);
        memcpy(name, p, n);
        name[n] = 0;
        FC_TRY(add_level(a, name, e));
        p += n + (p[n] == ',');
    }
    return FUSEC_OK;
}

fusec_status fc_aot_open(fc_aot *a, fc_cli *c, const char *file, const char *prefix,
                         const char *arch, bool cuda, unsigned what, fc_error *e) {
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    memset(a, 0, sizeof *a);
    a->cli = c;
    a->alloc = c->alloc;
    a->file = base;
    a->compiles = (what & FC_AOT_CODE) != 0;
    fc_arena_init(&a->arena, c->alloc);
    fc_image_init(&a->image, c->alloc);
    fc_str *texts[] = {&a->functions, &a->declarations, &a->header, &a->json};
    for (size_t i = 0; i < FC_COUNT(texts); i++) fc_str_init(texts[i], c->alloc);
    const char *from = prefix ? prefix : base;
    const size_t n = prefix ? strlen(prefix) : strcspn(base, ".");
    a->prefix = word_of(c->alloc, from, n, false);
    a->upper = word_of(c->alloc, from, n, true);
    if (!a->prefix || !a->upper) return fc_oom(e);
    FC_TRY(read_levels(a, arch ? arch : "", e));
    if (!a->nlevels) FC_TRY(read_levels(a, "x86-64-v3,x86-64", e));
    if (cuda && !a->ngpus) FC_TRY(read_levels(a, "sm_90", e));
    return fc_context_new(&c->config, &a->ctx, e);
}

void fc_aot_close(fc_aot *a) {
    for (size_t i = 0; i < a->objects.len; i++) fc_bytes_free(a->alloc, &a->objects.at[i]);
    fc_vec_free(a->alloc, &a->objects);
    for (size_t i = 0; i < a->names.len; i++) fc_free(a->alloc, a->names.at[i]);
    fc_vec_free(a->alloc, &a->names);
    fc_str *texts[] = {&a->functions, &a->declarations, &a->header, &a->json};
    for (size_t i = 0; i < FC_COUNT(texts); i++) fc_str_free(texts[i]);
    fc_image_free(&a->image);
    fc_free(a->alloc, a->prefix);
    fc_free(a->alloc, a->upper);
    fc_llvm_close(a->lib);
    fc_nvrtc_close(a->nvrtc);
    fc_vec_free(a->alloc, &a->defs);
    fc_context_free(a->ctx);
    fc_arena_free(&a->arena);
}

/* ---- definitions ----------------------------------------------------------------------------- */

static fusec_status add(fc_aot *a, fc_job *s, const fc_plan *p, const fc_item *def,
                        const char *dtype, fc_error *e) {
    uint32_t code[FC_AOT_LEVELS], images;
    fc_str name;
    fc_str_init(&name, a->alloc);
    fc_str_printf(&name, "%s_%s_%s", a->prefix, fc_job_name(s), dtype ? dtype : "");
    fusec_status st = name.oom ? fc_oom(e) : FUSEC_OK;
    for (int i = 0; !st && i < a->nlevels; i++)
        st = fc_aot_code_block(a, s, p, i, name.data, &code[i], e);
    fc_str_free(&name);
    if (!st) st = fc_aot_cuda_block(a, s, p, &images, e);
    if (st) return st;
    const uint32_t block = fc_aot_def_block(a, s, p, code, images);
    if (a->image.oom || !fc_push(a->alloc, &a->defs, block)) return fc_oom(e);
    size_t checks = 0;
    for (size_t i = 0; i < p->steps.len; i++) checks += p->steps.at[i]->kernel.checks.len;
    return fc_aot_function(a, s, def, dtype, block, checks, e);
}

fusec_status fc_aot_add(fc_aot *a, fc_job *s, const fc_item *def, const char *dtype, fc_error *e) {
    fc_plan *plan = NULL;
    fc_pass_options o = {.mode = s->lang.mode};
    FC_TRY(fc_plan_build(&s->graph, &o, &plan, e));
    fusec_status st = FUSEC_OK;
    for (size_t i = 0; i < plan->steps.len && !st; i++)
        if (plan->steps.at[i]->kind != FC_STEP_KERNEL)
            st = fc_fail(e, FUSEC_NOT_YET,
                         "an object can't have the step `%s` of %s yet: it is no kernel",
                         plan->steps.at[i]->what, fc_job_name(s));
    if (!st) st = add(a, s, plan, def, dtype, e);
    fc_plan_free(plan);
    return st;
}

/* ---- files ----------------------------------------------------------------------------------- */

static fusec_status write_text(fc_aot *a, const char *folder, const char *suffix,
                               const fc_str *text, fc_error *e) {
    fc_str path;
    char shown[64];
    fc_str_init(&path, a->alloc);
    fc_str_printf(&path, "%.*s/%s%s", fc_folder_len(folder), folder, a->prefix, suffix);
    fusec_status s = path.oom || text->oom ? fc_oom(e) : FUSEC_OK;
    if (!s) s = fc_cli_write_text(a->cli, path.data, text->data, text->len, e);
    if (!s) fc_cli_say(a->cli, "%s: %s", path.data, fc_show_bytes(shown, (int64_t)text->len));
    fc_str_free(&path);
    return s;
}

static fusec_status write_header(fc_aot *a, const char *folder, fc_error *e) {
    fc_str text;
    fc_str_init(&text, a->alloc);
    fc_aot_header_text(a, &text);
    const fusec_status s = write_text(a, folder, ".h", &text, e);
    fc_str_free(&text);
    return s;
}

static fusec_status write_json(fc_aot *a, const char *folder, fc_error *e) {
    fc_str text;
    fc_str_init(&text, a->alloc);
    fc_str_add(&text, "{\"file\":");
    fc_json_text(&text, a->file);
    fc_str_printf(&text, ",\"prefix\":\"%s\",\"levels\":[", a->prefix);
    for (int i = 0; i < a->nlevels; i++)
        fc_str_printf(&text, "%s\"%s\"", i ? "," : "", a->levels[i].cpu);
    fc_str_add(&text, "],\"gpus\":[");
    for (int i = 0; i < a->ngpus; i++)
        fc_str_printf(&text, "%s\"%s_%d\"", i ? "," : "", a->gpus[i].ptx ? "compute" : "sm",
                      a->gpus[i].cc);
    fc_str_printf(&text, "],\"functions\":[%s]}\n", a->json.data);
    text.oom |= a->json.oom;
    const fusec_status s = write_text(a, folder, ".json", &text, e);
    fc_str_free(&text);
    return s;
}

/* Whether who links says so: a shared library does itself. */
static bool needs_dl(const fc_aot *a, unsigned what) {
    return a->ngpus && (what & FC_AOT_LIB || !(what & FC_AOT_SO));
}

/* What other build systems are told of the files of this folder. */
static fusec_status write_cmake(fc_aot *a, const char *folder, unsigned what, fc_error *e) {
    const char *p = a->prefix, *here = "${CMAKE_CURRENT_LIST_DIR}";
    fc_str text;
    fc_str_init(&text, a->alloc);
    fc_str_printf(&text,
                  "# include(DIR/%s.cmake), then target_link_libraries(app %s)\n"
                  "add_library(%s INTERFACE)\ntarget_include_directories(%s INTERFACE %s)\n",
                  p, p, p, p, here);
    fc_str_printf(&text,
                  what & FC_AOT_LIB  ? "target_link_libraries(%s INTERFACE %s/lib%s.a m%s)\n"
                  : what & FC_AOT_SO ? "target_link_libraries(%s INTERFACE %s/lib%s.so%s)\n"
                                     : "target_link_libraries(%s INTERFACE %s/%s.o m%s)\n",
                  p, here, p, needs_dl(a, what) ? " ${CMAKE_DL_LIBS}" : "");
    const fusec_status s = write_text(a, folder, ".cmake", &text, e);
    fc_str_free(&text);
    return s;
}

static fusec_status write_pc(fc_aot *a, const char *folder, unsigned what, fc_error *e) {
    fc_str text;
    fc_str_init(&text, a->alloc);
    fc_str_printf(&text,
                  "prefix=${pcfiledir}\n\nName: %s\nDescription: functions made by fusec from %s\n"
                  "Version: " FC_VERSION "\nCflags: -I${prefix}\n",
                  a->prefix, a->file);
    fc_str_printf(&text,
                  what & FC_AOT_LIB  ? "Libs: ${prefix}/lib%s.a -lm%s\n"
                  : what & FC_AOT_SO ? "Libs: -L${prefix} -l%s%s\n"
                                     : "Libs: ${prefix}/%s.o -lm%s\n",
                  a->prefix, needs_dl(a, what) ? " -ldl" : "");
    const fusec_status s = write_text(a, folder, ".pc", &text, e);
    fc_str_free(&text);
    return s;
}

const char *fc_aot_name(fc_aot *a, fc_error *e, const char *fmt, ...) {
    fc_str name;
    va_list ap;
    fc_str_init(&name, a->alloc);
    va_start(ap, fmt);
    fc_str_vprintf(&name, fmt, ap);
    va_end(ap);
    char *kept = name.oom ? NULL : fc_strdup(a->alloc, name.data);
    fc_str_free(&name);
    for (size_t i = 0; kept && i < a->names.len; i++)
        if (!strcmp(a->names.at[i], kept))
            fc_fail(e, FUSEC_DUPLICATE_NAME,
                    "two functions of the header would be called %.200s: give a definition "
                    "another name",
                    kept);
    if (!e->code && kept && fc_push(a->alloc, &a->names, kept)) return kept;
    fc_free(a->alloc, kept);
    fc_oom(e); /* unless it is something else */
    return NULL;
}

/* int nn_abi(void) */
static fusec_status add_abi(fc_aot *a, fc_error *e) {
    const char *kept = fc_aot_name(a, e, "%s_abi", a->prefix);
    if (!kept) return e->code;
    fc_str_printf(&a->functions, "define i32 @%s() {\n  ret i32 %d\n}\n", kept, FC_AOT_ABI);
    return FUSEC_OK;
}

static fusec_status write_code(fc_aot *a, const char *folder, unsigned what, fc_error *e) {
    fc_str text;
    FC_TRY(add_abi(a, e));
    FC_TRY(fc_aot_cuda_functions(a, e));
    fc_str_init(&text, a->alloc);
    fc_str_add(&text, "@fc_libc_alloc = external constant i8\n"
                      "declare i32 @fusec_aot_call(ptr, ptr, ptr, ptr)\n");
    fc_str_addn(&text, a->declarations.data, a->declarations.len);
    fc_image_write(&a->image, &text);
    fc_str_addn(&text, a->functions.data, a->functions.len);
    text.oom |= a->declarations.oom | a->functions.oom;
    fusec_status s = fc_aot_compile(a, &text, "x86-64", e);
    if (!s) s = fc_aot_link(a, folder, what, e);
    fc_str_free(&text);
    return s;
}

fusec_status fc_aot_write(fc_aot *a, const char *folder, unsigned what, fc_error *e) {
    if (what & FC_AOT_HEADER) FC_TRY(write_header(a, folder, e));
    if (what & FC_AOT_JSON) FC_TRY(write_json(a, folder, e));
    if (what & FC_AOT_CMAKE) FC_TRY(write_cmake(a, folder, what, e));
    if (what & FC_AOT_PC) FC_TRY(write_pc(a, folder, what, e));
    return what & FC_AOT_CODE ? write_code(a, folder, what, e) : FUSEC_OK;
}
