/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cmd_build.c - `fusec build`: every exported definition as functions of an object with a header
 * (aot.h), or as one file for each kernel (emit.h). Needs no GPU. */
#include "frontend/cli/aot.h"
#include "frontend/cli/emit.h"
#include "frontend/cli/made_kernels.h"

/* What --emit lists: levels of emit.h, and FC_AOT_ bits with the object that they need. */
typedef struct wanted_files {
    unsigned levels, aot;
    fc_aot *object;
} wanted_files;

static const unsigned one_file = 1u << FC_LEVEL_FUSE | 1u << FC_LEVEL_GRAPH;

static fusec_status write_one(fc_emitter *m, const char *folder, const char *stem,
                              fc_emit_level level, uint32_t step, fc_error *e) {
    fc_str path, text;
    char shown[64];
    fc_str_init(&path, m->s->alloc);
    fc_str_init(&text, m->s->alloc);
    fc_str_printf(&path, "%.*s/%s", fc_folder_len(folder), folder, stem);
    if (!(one_file >> level & 1)) fc_str_printf(&path, "_k%u", step);
    fc_str_add(&path, fc_emit_suffix(level));
    fusec_status s = fc_emit(m, level, step, &text, e);
    if (!s && path.oom) s = fc_oom(e);
    if (!s) s = fc_cli_write_text(m->s->cli, path.data, text.data, text.len, e);
    if (!s) fc_cli_say(m->s->cli, "%s: %s", path.data, fc_show_bytes(shown, (int64_t)text.len));
    fc_str_free(&path);
    fc_str_free(&text);
    return s;
}

static fusec_status write_all(fc_job *s, const char *stem, unsigned levels, fc_error *e) {
    const fc_options *o = &s->cli->o;
    fc_emitter m;
    fusec_status st = fc_emitter_open(&m, s, o->text[FC_FLAG_ARCH], e);
    for (int l = 0; !st && l < FC_LEVEL_COUNT; l++) {
        if (!(levels >> l & 1)) continue;
        uint32_t n = 0;
        st = fc_emit_steps(&m, (fc_emit_level)l, &n, e);
        if (one_file >> l & 1) n = 1;
        for (uint32_t i = 0; !st && i < n; i++)
            st = write_one(&m, o->text[FC_FLAG_OUTPUT], stem, (fc_emit_level)l, i, e);
    }
    fc_emitter_close(&m);
    return st;
}

/* ---- dtypes of variables --------------------------------------------------------------------- */

/* The dtypes that a variable is built for: --dtype T=f32,f16, else the default float. */
typedef struct choice {
    fusec_dtype at[FC_DTYPE_ALL];
    size_t len;
} choice;

static fusec_status read_choice(const fc_cli *c, choice *out, fc_error *e) {
    const char *f = c->o.text[FC_FLAG_DEFAULT_FLOAT];
    *out = (choice){.at = {f && !strcmp(f, "f64") ? FUSEC_F64 : FUSEC_F32}, .len = 1};
    for (size_t i = 0; i < c->o.many.len; i++) {
        const char *word = c->o.many.at[i].text;
        size_t n;
        if (c->o.many.at[i].flag != FC_FLAG_DTYPE) continue;
        if (word[0] < 'A' || word[0] > 'Z' || word[1] != '=')
            return fc_fail(e, FUSEC_USAGE, "--dtype takes T=f32,f16, not `%.60s`", word);
        out->len = 0;
        for (const char *p = word + 2;; p += n + 1) {
            n = strcspn(p, ",");
            if (out->len == FC_COUNT(out->at) || !fc_dtype_by_name(p, n, &out->at[out->len]))
                return fc_fail(e, FUSEC_USAGE, "--dtype %.60s: `%.*s` is no dtype", word,
                               n > 30 ? 30 : (int)n, p);
            out->len++;
            if (!p[n]) break;
        }
    }
    return FUSEC_OK;
}

/* ---- definitions ----------------------------------------------------------------------------- */

static fusec_status each_dtype(fc_cli *c, const fc_item *d, const choice *dtypes, fc_def_fn *fn,
                               void *user, fc_error *e) {
    size_t count = fc_job_letters(d) ? dtypes->len : 1;
    for (size_t i = 0; i < count; i++) {
        fc_lang_dtype letters[26];
        fc_job s;
        fc_str stem;
        fc_job_all_letters(letters, dtypes->at[i]);
        fc_job_request rq = {.file = c->o.files.at[0],
                             .def = d->name.text,
                             .no_inputs = true,
                             .dtypes = letters,
                             .dtype_count = 26};
        fc_str_init(&stem, c->alloc);
        if (c->o.text[FC_FLAG_PREFIX]) fc_str_printf(&stem, "%s_", c->o.text[FC_FLAG_PREFIX]);
        fc_str_addn(&stem, d->name.text, d->name.len);
        if (count > 1) fc_str_printf(&stem, "_%s", fc_dtypes[dtypes->at[i]].name);
        fusec_status st = fc_job_open(&s, c, &rq, e);
        const char *dtype = fc_job_letters(d) ? fc_dtypes[dtypes->at[i]].name : NULL;
        if (!st) st = fn(user, &s, d, dtype, stem.data, e);
        fc_job_close(&s);
        fc_str_free(&stem);
        if (st) return st;
    }
    return FUSEC_OK;
}

static fusec_status build_def(void *user, fc_job *s, const fc_item *d, const char *dtype,
                              const char *stem, fc_error *e) {
    const wanted_files *w = user;
    if (w->levels) FC_TRY(write_all(s, stem, w->levels, e));
    return w->aot ? fc_aot_add(w->object, s, d, dtype, e) : FUSEC_OK;
}

/* Whether a definition is meant: --entry LIST, else every export def. */
static bool wanted(const fc_cli *c, const fc_item *d) {
    if (d->kind != FC_IT_DEF) return false;
    if (!c->o.text[FC_FLAG_ENTRY]) return d->exported;
    for (const char *p = c->o.text[FC_FLAG_ENTRY]; *p;) {
        size_t n = strcspn(p, ",");
        if (n == d->name.len && !memcmp(p, d->name.text, n)) return true;
        p += n + (p[n] == ',');
    }
    return false;
}

/* Whether a name stands in the types of a definition: as a dtype variable, or as a size. */
static bool types_use(const fc_item *d, const char *name, size_t len) {
    for (const fc_param *p = d->params; p; p = p->next) {
        const fc_type *t = p->type;
        if (!t) continue;
        if (t->name.len == len && !memcmp(t->name.text, name, len)) return true;
        if (!strcmp(t->name.text, "dim") && p->name.len == len && !memcmp(p->name.text, name, len))
            return true;
        for (const fc_expr *x = t->dims; x; x = x->next)
            if (x->kind == FC_EX_NAME && x->len == len && !memcmp(x->text, name, len)) return true;
    }
    return false;
}

static const fc_item *entry_by_name(const fc_ast *ast, const char *name, size_t len) {
    for (const fc_item *d = ast->items; d; d = d->next)
        if (d->kind == FC_IT_DEF && d->name.len == len && !memcmp(d->name.text, name, len))
            return d;
    return NULL;
}

/* What --entry, --dtype and --static name must be there: a name that is misspelt would change
 * nothing, and nobody would notice. */
static fusec_status check_names(const fc_cli *c, const fc_ast *ast, fc_error *e) {
    const char *file = c->o.files.at[0];
    for (const char *p = c->o.text[FC_FLAG_ENTRY]; p && *p;) {
        size_t n = strcspn(p, ",");
        if (!entry_by_name(ast, p, n))
            return fc_fail(e, FUSEC_USAGE, "--entry %.*s: %.200s has no such definition",
                           n > 60 ? 60 : (int)n, p, file);
        p += n + (p[n] == ',');
    }
    for (size_t i = 0; i < c->o.many.len; i++) {
        fc_flag flag = c->o.many.at[i].flag;
        const char *word = c->o.many.at[i].text;
        size_t n = strcspn(word, "=");
        bool used = flag != FC_FLAG_DTYPE && flag != FC_FLAG_STATIC;
        for (const fc_item *d = ast->items; d && !used; d = d->next)
            used = wanted(c, d) && types_use(d, word, n);
        if (!used)
            return fc_fail(
                e, FUSEC_USAGE, "--%s %.60s: no definition that is built has a %s `%.*s`",
                fc_flags[flag].name, word, flag == FC_FLAG_DTYPE ? "dtype variable" : "size",
                n > 60 ? 60 : (int)n, word);
    }
    return FUSEC_OK;
}

fusec_status fc_each_def(fc_cli *c, const fc_ast *ast, fc_def_fn *fn, void *user, fc_error *e) {
    choice dtypes;
    size_t built = 0;
    FC_TRY(read_choice(c, &dtypes, e));
    FC_TRY(check_names(c, ast, e));
    for (const fc_item *d = ast->items; d; d = d->next) {
        if (!wanted(c, d)) continue;
        built++;
        FC_TRY(each_dtype(c, d, &dtypes, fn, user, e));
    }
    if (built) return FUSEC_OK;
    return fc_fail(e, FUSEC_USAGE,
                   "%.200s has no export def\n  help: export def marks what is built, "
                   "--entry NAME names a definition",
                   c->o.files.at[0]);
}

static fusec_status build_all(fc_cli *c, const fc_ast *ast, wanted_files *w, fc_error *e) {
    const char *folder = c->o.text[FC_FLAG_OUTPUT];
    FC_TRY(fc_make_folder(folder, e));
    FC_TRY(fc_each_def(c, ast, build_def, w, e));
    return w->aot ? fc_aot_write(w->object, folder, w->aot, e) : FUSEC_OK;
}

/* "header,obj,cuda": those of the object, and the others. */
static fusec_status read_emit(fc_cli *c, const char *list, wanted_files *w, fc_error *e) {
    static const char *const names[] = {"header", "obj", "json", "lib", "so", "cmake", "pc"};
    fc_str rest;
    fusec_status s = FUSEC_OK;
    fc_str_init(&rest, c->alloc);
    for (const char *p = list; *p;) {
        const size_t n = strcspn(p, ",");
        unsigned bit = 0;
        for (unsigned i = 0; i < FC_COUNT(names); i++)
            if (strlen(names[i]) == n && !memcmp(names[i], p, n)) bit = 1u << i;
        w->aot |= bit;
        if (!bit) fc_str_printf(&rest, "%s%.*s", rest.len ? "," : "", (int)n, p);
        p += n + (p[n] == ',');
    }
    if (rest.oom) s = fc_oom(e);
    if (!s && (rest.len || !w->aot)) s = fc_levels_parse(rest.data, &w->levels, e);
    fc_str_free(&rest);
    return s;
}

/* --device cuda: with functions for GPUs. */
static bool is_cuda(const fc_cli *c) {
    const char *device = c->o.text[FC_FLAG_DEVICE];
    return device && !strcmp(device, "cuda");
}

static fusec_status build(fc_cli *c, const fc_ast *ast, wanted_files *w, fc_error *e) {
    fc_aot object;
    if (!w->aot) return build_all(c, ast, w, e);
    w->object = &object;
    fusec_status s = fc_aot_open(&object, c, c->o.files.at[0], c->o.text[FC_FLAG_PREFIX],
                                 c->o.text[FC_FLAG_ARCH], is_cuda(c), w->aot, e);
    if (!s) s = build_all(c, ast, w, e);
    fc_aot_close(&object);
    return s;
}

fusec_status fc_cmd_build(fc_cli *c, fc_error *e) {
    wanted_files w = {0};
    const fc_source *src;
    fc_ast ast;
    if (!c->o.files.len)
        return fc_fail(e, FUSEC_USAGE, "there is no program\n  help: fusec build FILE -o DIR");
    if (!c->o.text[FC_FLAG_OUTPUT])
        return fc_fail(e, FUSEC_USAGE, "where to?\n  help: fusec build %.200s -o DIR",
                       c->o.files.at[0]);
    const char *list = c->o.text[FC_FLAG_EMIT], *device = c->o.text[FC_FLAG_DEVICE];
    if (device && strcmp(device, "cpu") != 0 && !is_cuda(c))
        return fc_fail(e, FUSEC_USAGE,
                       "build is for cpu, or for cpu and cuda, not for %.60s\n"
                       "  help: --device cuda --arch sm_80,sm_90 says for which GPUs",
                       device);
    FC_TRY(read_emit(c, list ? list : "header,obj,json,cmake,pc", &w, e));
    FC_TRY(fc_files_read(&c->files, c->o.files.at[0], &src, e));
    fusec_status s = fc_parse_program(src, &c->ds, &ast);
    if (!s) s = build(c, &ast, &w, e);
    fc_ast_free(&ast);
    return s;
}
