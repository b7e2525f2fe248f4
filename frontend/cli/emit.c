/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* emit.c - levels of a program. See emit.h.
 *
 * CUDA text is made for a device that need not exist, LLVM IR for the CPU; PTX, cubins and assembly
 * come from NVRTC and LLVM, opened on first need. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cli/emit.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/cpuinfo.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/helper.h"
#include "frontend/io/array.h"
#include "ir/version.h"

static const struct {
    const char *name, *suffix, *comment;
} levels[FC_LEVEL_COUNT] = {
    [FC_LEVEL_FUSE] = {"fuse", ".fuse", "#"}, [FC_LEVEL_GRAPH] = {"graph", ".graph", "#"},
    [FC_LEVEL_IR] = {"ir", ".ir", "#"},       [FC_LEVEL_CUDA] = {"cuda", ".cu", "//"},
    [FC_LEVEL_PTX] = {"ptx", ".ptx", "//"},   [FC_LEVEL_CUBIN] = {"cubin", ".cubin", NULL},
    [FC_LEVEL_LLVM] = {"llvm", ".ll", ";"},   [FC_LEVEL_ASM] = {"asm", ".s", "#"},
};

const char *fc_emit_suffix(fc_emit_level l) {
    return levels[l].suffix;
}

fusec_status fc_levels_parse(const char *list, unsigned *out, fc_error *e) {
    const char *names[FC_LEVEL_COUNT + 1] = {0};
    for (int l = 0; l < FC_LEVEL_COUNT; l++) names[l] = levels[l].name;
    *out = 0;
    for (const char *p = list;; p++) {
        size_t n = strcspn(p, ",");
        unsigned bit = 0;
        for (int l = 0; l < FC_LEVEL_COUNT; l++)
            if (strlen(names[l]) == n && !memcmp(names[l], p, n)) bit = 1u << l;
        if (!bit) {
            fusec_status s = fc_fail(e, FUSEC_USAGE,
                                     "--emit knows header, obj, lib, so, json, cmake, pc (of "
                                     "build), fuse, graph, ir, cuda, ptx, cubin, llvm and asm, "
                                     "not `%.*s`",
                                     n > 60 ? 60 : (int)n, p);
            fc_add_suggestion(e, p, n, names, "");
            return s;
        }
        *out |= bit;
        p += n;
        if (!*p) return FUSEC_OK;
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static fusec_status bad_arch(const char *p, size_t n, fc_error *e) {
    return fc_fail(
        e, FUSEC_USAGE,
        "--arch takes sm_90 and the like, x86-64, x86-64-v2, x86-64-v3 and x86-64-v4, not "
        "`%.*s`",
        n > 60 ? 60 : (int)n, p);
}

/* The levels of x86-64; on other machines LLVM's names, which it does not let one ask for. */
static bool known_cpu(const char *p, size_t n) {
#if defined(__x86_64__)
    static const char *const names[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    for (size_t i = 0; i < FC_COUNT(names); i++)
        if (strlen(names[i]) == n && !memcmp(names[i], p, n)) return true;
    return false;
#else
    (void)p;
    return n > 0;
#endif
}

fusec_status fc_arch_parse(const char *list, int *cc, const char **cpu, size_t *cpu_len,
                           fc_error *e) {
    *cc = 90;
    *cpu = NULL;
    *cpu_len = 0;
    for (const char *p = list; p && *p;) {
        size_t n = strcspn(p, ",");
        if (strncmp(p, "sm_", 3) != 0) {
            if (!known_cpu(p, n)) return bad_arch(p, n, e);
            *cpu = p;
            *cpu_len = n;
        } else {
            int number = n > 3 ? 0 : -1;
            for (size_t i = 3; i < n; i++) {
                bool digit = p[i] >= '0' && p[i] <= '9' && number >= 0 && number < 1000;
                number = digit ? number * 10 + (p[i] - '0') : -1;
            }
            if (number < 50 || number > 199) return bad_arch(p, n, e);
            *cc = number;
        }
        p += n + (p[n] == ',');
    }
    return FUSEC_OK;
}

static fusec_status read_arch(fc_emitter *m, const char *list, fc_error *e) {
    const char *cpu;
    size_t n;
    FC_TRY(fc_arch_parse(list, &m->cc, &cpu, &n, e));
    if (cpu && !(m->cpu = fc_arena_strdup(&m->s->arena, cpu, n))) return fc_oom(e);
    return FUSEC_OK;
}

fusec_status fc_emitter_open(fc_emitter *m, fc_job *s, const char *arch, fc_error *e) {
    memset(m, 0, sizeof *m);
    m->s = s;
    fc_str_init(&m->note, s->alloc);
    FC_TRY(read_arch(m, arch, e));
    FC_TRY(fc_job_context(s, e));
    if (!s->sized) FC_TRY(fc_job_examples(s, &m->note, e));
    fc_pass_options po = {.mode = s->lang.mode};
    return fc_plan_build(&s->graph, &po, &m->plan, e);
}

void fc_emitter_close(fc_emitter *m) {
    fusec_program_free(m->cuda);
    fusec_program_free(m->llvm);
    fc_plan_free(m->plan);
    fc_device_close(m->offline);
    fc_nvrtc_close(m->nvrtc);
    fc_llvm_close(m->lib);
    fc_str_free(&m->note);
}

/* ---- programs for the two targets ------------------------------------------------------------ */

static fusec_status need_cuda(fc_emitter *m, fc_error *e) {
    if (m->cuda) return FUSEC_OK;
    if (!m->offline) FC_TRY(fc_device_open_cuda_offline(m->s->alloc, m->cc, &m->offline, e));
    return fc_job_program(m->s, m->offline, false, &m->cuda, e);
}

static fusec_status need_llvm(fc_emitter *m, fc_error *e) {
    fc_device *d;
    if (m->llvm) return FUSEC_OK;
    FC_TRY(fc_job_device(m->s, "cpu", &d, e));
    unsigned features;
    if (m->cpu) (void)fc_cpu_level(m->cpu, &d->machine.vector_bytes, &features);
    return fc_job_program(m->s, d, false, &m->llvm, e);
}

static bool is_of_gpu(fc_emit_level level) {
    return level == FC_LEVEL_CUDA || level == FC_LEVEL_PTX || level == FC_LEVEL_CUBIN;
}

/* What a GPU runs for these sizes may be another plan than that of the other levels. */
static const fc_plan *plan_of(const fc_emitter *m, fc_emit_level level) {
    const fc_job *s = m->s;
    if (!is_of_gpu(level) || !m->cuda) return m->plan;
    return fc_program_for(m->cuda->p, s->nin, s->in, s->ndims, s->dims)->plan;
}

fusec_status fc_emit_steps(fc_emitter *m, fc_emit_level level, uint32_t *out, fc_error *e) {
    if (is_of_gpu(level)) FC_TRY(need_cuda(m, e));
    *out = level < FC_LEVEL_IR ? 1 : (uint32_t)plan_of(m, level)->steps.len;
    return FUSEC_OK;
}

fusec_status fc_emit_source(fc_job *s, fusec_program *p, uint32_t step, fc_str *out, fc_error *e) {
    fusec_tensor *in;
    char *text = NULL;
    FC_TRY(fc_job_inputs(s, p, &in, e));
    FC_TRY(fc_job_failed(fusec_source(p, (int)step, fusec_input_count(p), in, &text), e));
    fc_str_add(out, text);
    fusec_text_free(s->api, text);
    return FUSEC_OK;
}

static fusec_status from_nvrtc(fc_emitter *m, fc_emit_level level, const char *text, fc_bytes *out,
                               fc_error *e) {
    fc_str arch;
    if (!m->nvrtc && !m->s->ctx->helper) FC_TRY(fc_nvrtc_open(m->s->alloc, &m->nvrtc, e));
    fc_str_init(&arch, m->s->alloc);
    fc_str_printf(&arch, "sm_%d", m->cc);
    fc_nvrtc_options o = {.arch = arch.data,
                          .kind = level == FC_LEVEL_PTX ? FC_NVRTC_PTX : FC_NVRTC_CUBIN,
                          .fmad = (m->s->lang.mode & FC_MODE_CONTRACT) != 0};
    fusec_status s = m->s->ctx->helper
                         ? fc_helper_nvrtc(m->s->ctx->helper, text, FC_ENTRY ".cu", &o, out, e)
                         : fc_nvrtc_compile(m->nvrtc, text, FC_ENTRY ".cu", &o, out, e);
    fc_str_free(&arch);
    return s;
}

static fusec_status from_llvm(fc_emitter *m, const fc_str *text, fc_bytes *out, fc_error *e) {
    fc_llvm_options o = {.cpu = m->cpu, .passes = FC_LLVM_EARLY_CSE, .level = 2, .assembly = true};
    if (m->s->ctx->helper)
        return fc_helper_llvm(m->s->ctx->helper, text->data, text->len, FC_ENTRY, &o, out, e);
    if (!m->lib) FC_TRY(fc_llvm_open(m->s->alloc, &m->lib, e));
    return fc_llvm_compile(m->lib, text->data, text->len, FC_ENTRY, &o, out, e);
}

/* ---- texts ----------------------------------------------------------------------------------- */

void fc_emit_kernel_name(const fc_job *s, uint32_t step, fc_str *out) {
    fc_str_printf(out, "%s_k%u", fc_job_name(s), step);
}

static void heading(const fc_emitter *m, fc_emit_level level, uint32_t step, fc_str *out) {
    const char *c = levels[level].comment;
    if (!c) return;
    fc_str_printf(out, "%s ", c);
    if (level >= FC_LEVEL_IR)
        fc_emit_kernel_name(m->s, step, out);
    else
        fc_str_add(out, fc_job_name(m->s));
    fc_str_add(out, ", made by fusec " FC_VERSION);
    if (level == FC_LEVEL_CUDA || level == FC_LEVEL_PTX) fc_str_printf(out, " for sm_%d", m->cc);
    if ((level == FC_LEVEL_LLVM || level == FC_LEVEL_ASM) && m->cpu)
        fc_str_printf(out, " for %s", m->cpu);
    fc_str_char(out, '\n');
    if (level >= FC_LEVEL_IR)
        fc_str_printf(out, "%s makes %s\n", c, plan_of(m, level)->steps.at[step]->what);
    if (level >= FC_LEVEL_CUDA && m->note.len)
        fc_str_printf(out, "%s the shape class is that of %s; sizes are arguments of the kernel\n",
                      c, m->note.data);
}

static fusec_status compiled(fc_emitter *m, fc_emit_level level, uint32_t step, fc_str *out,
                             fc_error *e) {
    bool gpu = level == FC_LEVEL_PTX || level == FC_LEVEL_CUBIN;
    fc_bytes code = {0};
    fc_str text;
    fc_str_init(&text, m->s->alloc);
    fusec_status s = gpu ? need_cuda(m, e) : need_llvm(m, e);
    if (!s) s = fc_emit_source(m->s, gpu ? m->cuda : m->llvm, step, &text, e);
    if (!s && text.oom) s = fc_oom(e);
    if (!s && level == FC_LEVEL_PTX && !strstr(text.data, "__global__")) {
        fc_str_addn(out, text.data, text.len); /* it says where its code is */
        fc_str_free(&text);
        return s;
    }
    if (!s) s = gpu ? from_nvrtc(m, level, text.data, &code, e) : from_llvm(m, &text, &code, e);
    size_t n = code.len;
    if (gpu && level == FC_LEVEL_PTX)
        n = strlen((const char *)code.data ? (const char *)code.data : "");
    if (!s) fc_str_addn(out, (const char *)code.data, n);
    fc_bytes_free(m->s->alloc, &code);
    fc_str_free(&text);
    return s;
}

fusec_status fc_emit(fc_emitter *m, fc_emit_level level, uint32_t step, fc_str *out, fc_error *e) {
    fusec_status s = FUSEC_OK;
    heading(m, level, step, out);
    switch (level) {
    case FC_LEVEL_FUSE: fc_lang_print_graph(&m->s->graph, fc_job_name(m->s), out); break;
    case FC_LEVEL_GRAPH: fc_graph_print(&m->plan->graph, out); break;
    case FC_LEVEL_IR:
        fc_kernel_print(&m->plan->steps.at[step]->kernel, &m->plan->graph.dims, out);
        break;
    case FC_LEVEL_CUDA:
        s = need_cuda(m, e);
        if (!s) s = fc_emit_source(m->s, m->cuda, step, out, e);
        break;
    case FC_LEVEL_LLVM:
        s = need_llvm(m, e);
        if (!s) s = fc_emit_source(m->s, m->llvm, step, out, e);
        break;
    case FC_LEVEL_PTX:
    case FC_LEVEL_CUBIN:
    case FC_LEVEL_ASM: s = compiled(m, level, step, out, e); break;
    case FC_LEVEL_COUNT: break;
    }
    return !s && out->oom ? fc_oom(e) : s;
}

/* ---- folders --------------------------------------------------------------------------------- */

int fc_folder_len(const char *path) {
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] == '/') n--;
    return n > INT_MAX ? INT_MAX : (int)n;
}

fusec_status fc_make_folder(const char *path, fc_error *e) {
    char shown[200], text[32];
    struct stat st;
    if (mkdir(path, 0777) == 0) return FUSEC_OK;
    int err = errno;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return FUSEC_OK;
    return fc_fail(e, FUSEC_IO, "cannot make the folder %s: %s",
                   fc_shown_name(shown, sizeof shown, path),
                   err == EEXIST ? "a file has this name" : fc_errno_text(err, text));
}

const char *fc_emit_source_suffix(const fusec_program *p) {
    const fc_device_kind kind = p->p->device->kind;
    return fc_emit_suffix(kind == FC_DEV_CUDA  ? FC_LEVEL_CUDA
                          : kind == FC_DEV_CPU ? FC_LEVEL_LLVM
                                               : FC_LEVEL_IR);
}

fusec_status fc_emit_keep(fc_job *s, fusec_program *p, const char *folder, fc_error *e) {
    fc_str path, text;
    FC_TRY(fc_make_folder(folder, e));
    fc_str_init(&path, s->alloc);
    fc_str_init(&text, s->alloc);
    fusec_status st = FUSEC_OK;
    for (uint32_t i = 0; !st && i < (uint32_t)fusec_kernel_count(p); i++) {
        fc_str_clear(&path);
        fc_str_clear(&text);
        fc_str_printf(&path, "%s/", folder);
        fc_emit_kernel_name(s, i, &path);
        fc_str_add(&path, fc_emit_source_suffix(p));
        st = fc_emit_source(s, p, i, &text, e);
        if (!st && (text.oom || path.oom)) st = fc_oom(e);
        if (!st) st = fc_cli_write_text(s->cli, path.data, text.data, text.len, e);
    }
    fc_str_free(&path);
    fc_str_free(&text);
    return st;
}
