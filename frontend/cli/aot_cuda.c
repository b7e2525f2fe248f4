/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot_cuda.c - the GPU code of an object: for each architecture one image with the classes of all
 * kernels of a definition, and what the header says of GPUs. */
#include <stdio.h>
#include <stdlib.h>

#include "frontend/cli/aot.h"
#include "runtime/compile/helper.h"
#include "runtime/compile/nvrtc.h"

/* ---- architectures --------------------------------------------------------------------------- */

/* Cubins before PTX, the newest first. */
static bool comes_before(const fc_aot_gpu *a, const fc_aot_gpu *b) {
    return a->ptx != b->ptx ? b->ptx : a->cc > b->cc;
}

bool fc_aot_add_gpu(fc_aot *a, const char *name, fc_error *e) {
    static const char *const words[] = {"sm_", "compute_"};
    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(words[i]);
        char *end;
        if (strncmp(name, words[i], n) != 0) continue;
        const long cc = strtol(name + n, &end, 10);
        if (*end || end == name + n || cc < 50 || cc > 199 || a->ngpus == FC_AOT_GPUS) break;
        const fc_aot_gpu g = {.cc = (int)cc, .ptx = i == 1};
        int at = a->ngpus++;
        for (; at > 0 && comes_before(&g, &a->gpus[at - 1]); at--) a->gpus[at] = a->gpus[at - 1];
        a->gpus[at] = g;
        return true;
    }
    if (!strncmp(name, words[0], 3) || !strncmp(name, words[1], 8))
        fc_fail(e, FUSEC_USAGE, "--arch %.40s: a GPU is sm_90, or compute_90 for PTX; %d at most",
                name, FC_AOT_GPUS);
    return false;
}

/* ---- images ---------------------------------------------------------------------------------- */

static const char *entry_name(fc_aot *a, size_t kernel, size_t variant, bool plain) {
    fc_str s;
    fc_str_init(&s, a->alloc);
    fc_str_printf(&s, "fusec_k%zu_", kernel);
    if (plain)
        fc_str_add(&s, "plain");
    else
        fc_str_printf(&s, "v%zu", variant);
    const char *name = s.oom ? NULL : fc_arena_strdup(&a->arena, s.data, s.len);
    fc_str_free(&s);
    return name;
}

/* All variants of all kernels as one text, each in a name space of its own if there are several. */
static fusec_status write_text(fc_aot *a, const fc_plan *p, const fc_machine *m, fc_aot_choice *x,
                               fc_str *out, fc_error *e) {
    const bool several = p->steps.len > 1 || (p->steps.len && x[0].n);
    for (size_t i = 0; i < p->steps.len; i++)
        for (size_t v = 0; v <= x[i].n; v++) {
            x[i].name[v] = entry_name(a, i, v, v == x[i].n);
            if (!x[i].name[v]) return fc_oom(e);
            if (several) fc_str_printf(out, "namespace %s_space {\n", x[i].name[v]);
            FC_TRY(fc_cuda_target.emit(m, &p->steps.at[i]->kernel, &x[i].cls[v], x[i].name[v], out,
                                       e));
            if (several) fc_str_add(out, "}\n");
        }
    return out->oom ? fc_oom(e) : FUSEC_OK;
}

static fusec_status compile(fc_aot *a, const fc_aot_gpu *g, bool contract, const fc_str *text,
                            fc_bytes *out, fc_error *e) {
    char arch[16];
    if (!a->compiles) return FUSEC_OK;
    snprintf(arch, sizeof arch, "sm_%d", g->cc);
    const fc_nvrtc_options o = {
        .arch = arch, .kind = g->ptx ? FC_NVRTC_PTX : FC_NVRTC_CUBIN, .fmad = contract};
    if (a->ctx->helper) return fc_helper_nvrtc(a->ctx->helper, text->data, "aot.cu", &o, out, e);
    if (!a->nvrtc) FC_TRY(fc_nvrtc_open(a->alloc, &a->nvrtc, e));
    return fc_nvrtc_compile(a->nvrtc, text->data, "aot.cu", &o, out, e);
}

/* An image: its variants, and what it points to. */
typedef struct image {
    fc_aot_image at;
    uint32_t binary, code;
} image;

static fusec_status make_image(fc_aot *a, const fc_job *s, const fc_plan *p, const fc_aot_gpu *g,
                               image *out, fc_error *e) {
    fc_device *offline = NULL;
    fc_str text;
    fc_bytes binary = {0};
    FC_TRY(fc_device_open_cuda_offline(a->alloc, g->cc, &offline, e));
    fc_machine m = offline->machine;
    m.later = g->ptx;
    fc_device_close(offline);
    const fc_aot_machine_of of = {&fc_cuda_target, &m, 16};
    fc_str_init(&text, a->alloc);
    fc_aot_choice *x = fc_calloc(a->alloc, p->steps.len + 1, sizeof *x);
    fusec_status st = x ? fc_aot_choose(a, s, p, &of, x, e) : fc_oom(e);
    if (!st) st = write_text(a, p, &m, x, &text, e);
    if (!st) st = compile(a, g, (s->lang.mode & FC_MODE_CONTRACT) != 0, &text, &binary, e);
    if (!st) {
        out->at = (fc_aot_image){.cc = g->cc, .ptx = g->ptx, .shared = m.shared_per_block};
        for (size_t i = 0; i < p->steps.len; i++) out->at.nfunctions += x[i].n + 1;
        out->binary = fc_image_add(&a->image, a->compiles ? binary.data : (const void *)"",
                                   binary.len + 1); /* ends with 0 */
        out->code = fc_aot_code_table(a, x, p->steps.len);
    }
    fc_bytes_free(a->alloc, &binary);
    fc_str_free(&text);
    fc_free(a->alloc, x);
    return st;
}

/* Numbers are arguments of the call, in memory of the host: no kernel may read them as arrays. */
static fusec_status check_numbers(const fc_job *s, const fc_plan *p, fc_error *e) {
    for (size_t i = 0; i < p->steps.len; i++) {
        const fc_kernel *k = &p->steps.at[i]->kernel;
        for (size_t x = 0; x < k->args.len; x++) {
            const uint32_t buffer = k->args.at[x].buffer;
            if (buffer < p->graph.inputs.len && !fc_rank(&p->graph, p->buffers.at[buffer].node))
                return fc_fail(e, FUSEC_NOT_YET, "GPU code of %s reads the number %s from memory",
                               fc_job_name(s), p->graph.inputs.at[buffer].name);
        }
    }
    return FUSEC_OK;
}

fusec_status fc_aot_cuda_block(fc_aot *a, const fc_job *s, const fc_plan *p, uint32_t *block,
                               fc_error *e) {
    image made[FC_AOT_GPUS] = {0};
    fc_aot_image all[FC_AOT_GPUS];
    *block = FC_NO_BLOCK;
    if (!a->ngpus) return FUSEC_OK;
    FC_TRY(check_numbers(s, p, e));
    for (int i = 0; i < a->ngpus; i++) {
        FC_TRY(make_image(a, s, p, &a->gpus[i], &made[i], e));
        all[i] = made[i].at;
    }
    *block = fc_image_add(&a->image, all, (size_t)a->ngpus * sizeof *all);
    for (int i = 0; i < a->ngpus; i++) {
        const size_t at = (size_t)i * sizeof *all;
        fc_image_point(&a->image, *block, at + offsetof(fc_aot_image, binary), made[i].binary);
        fc_image_point(&a->image, *block, at + offsetof(fc_aot_image, code), made[i].code);
    }
    return FUSEC_OK;
}

/* ---- the header ------------------------------------------------------------------------------ */

void fc_aot_cuda_header(const fc_aot *a, fc_str *out) {
    const char *p = a->prefix;
    if (!a->ngpus) return;
    fc_str_printf(
        out,
        "\n/* ---- CUDA: arrays in memory of the GPU, aligned to their elements; numbers by value, "
        "complex ones behind a "
        "pointer "
        "of the host. Needs\n"
        " * libcuda.so.1 when it is opened, and nothing to link or to start. There is code for");
    for (int i = 0; i < a->ngpus; i++)
        fc_str_printf(out, "%s %s_%d", i ? "," : "", a->gpus[i].ptx ? "compute" : "sm",
                      a->gpus[i].cc);
    fc_str_printf(
        out,
        ".\n"
        " *\n"
        " * %s_cuda_open loads it into the context that is current on the calling thread; calls "
        "are "
        "made,\n"
        " * and it is closed, with that context current. Functions put work on `stream` (a "
        "CUstream or\n"
        " * cudaStream_t, NULL: the default one) and neither wait nor allocate, so they can be "
        "captured.\n"
        " * `scratch`: memory of the GPU, of as many bytes as the function's _scratch says for "
        "these sizes,\n"
        " * aligned to 256; NULL where that is 0; used until the work is done.\n"
        " *     NODEVICE  there is no driver, no current context, or no code for the GPU\n"
        " *     DRIVER    the driver has refused\n"
        " * %s_cuda_message: what was wrong, of the last failure on this thread; \"\" if nothing "
        "was. */\n",
        p, p);
    fc_str_printf(out,
                  "typedef struct %s_cuda %s_cuda;\n"
                  "int %s_cuda_open(%s_cuda **out);\n"
                  "void %s_cuda_close(%s_cuda *cuda); /* NULL is fine */\n"
                  "const char *%s_cuda_message(void);\n",
                  p, p, p, p, p, p, p);
}

/* ---- functions of no definition -------------------------------------------------------------- */

fusec_status fc_aot_cuda_functions(fc_aot *a, fc_error *e) {
    fc_image *m = &a->image;
    fc_str *f = &a->functions;
    if (!a->ngpus) return FUSEC_OK;
    fc_aot_defs defs = {.n = a->defs.len};
    void **none = fc_calloc(a->alloc, a->defs.len + 1, sizeof *none);
    if (!none) return fc_oom(e);
    const uint32_t list = fc_image_add(m, none, (a->defs.len + 1) * sizeof *none);
    fc_free(a->alloc, none);
    for (size_t i = 0; i < a->defs.len; i++)
        fc_image_point(m, list, i * sizeof(void *), a->defs.at[i]);
    const uint32_t table = fc_image_add(m, &defs, sizeof defs);
    fc_image_point(m, table, offsetof(fc_aot_defs, at), list);
    const char *opens = fc_aot_name(a, e, "%s_cuda_open", a->prefix),
               *closes = fc_aot_name(a, e, "%s_cuda_close", a->prefix),
               *says = fc_aot_name(a, e, "%s_cuda_message", a->prefix);
    if (m->oom || !opens || !closes || !says) return fc_oom(e); /* or what was before it */
    fc_str_add(&a->declarations,
               "declare i32 @fusec_aot_cuda_open(ptr, ptr)\n"
               "declare void @fusec_aot_cuda_close(ptr)\n"
               "declare ptr @fusec_aot_cuda_message()\n"
               "declare i32 @fusec_aot_cuda_scratch(ptr, ptr, ptr, ptr)\n"
               "declare i32 @fusec_aot_cuda_call(ptr, ptr, ptr, ptr, ptr, ptr)\n");
    fc_str_printf(f,
                  "define i32 @%s(ptr %%out) {\n"
                  "  %%r = call i32 @fusec_aot_cuda_open(ptr @fc.%u, ptr %%out)\n"
                  "  ret i32 %%r\n}\n",
                  opens, table);
    fc_str_printf(f,
                  "define void @%s(ptr %%c) {\n"
                  "  call void @fusec_aot_cuda_close(ptr %%c)\n  ret void\n}\n",
                  closes);
    fc_str_printf(f,
                  "define ptr @%s() {\n"
                  "  %%r = call ptr @fusec_aot_cuda_message()\n  ret ptr %%r\n}\n",
                  says);
    return FUSEC_OK;
}
