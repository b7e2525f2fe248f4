/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plan_svg.c - a plan as a picture: arrays and kernels from top to bottom, as data flows.
 *
 * In: a plan's view. Out: one <svg>, for light and dark.
 *
 * Layers are longest paths (steps stand in the order they run, so one walk finds them); in a layer
 * boxes are ordered by the mean place of their neighbours, twice down and twice up; edges are
 * straight and as thick as the array is large. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/explain/plan_view.h"

enum { BOXES = 4000, CHAR = 7, LINE = 15, PAD = 8, GAP = 22, DROP = 46, LABEL = 44 };

typedef struct box {
    bool kernel, used;
    uint32_t number; /* of the buffer or the step */
    uint32_t layer, lines;
    char text[3][LABEL + 8];
    double x, y, width, height; /* x: of the middle */
    double sum;                 /* while ordering */
    uint32_t n;
} box;

typedef struct edge {
    uint32_t from, to; /* boxes */
    uint32_t buffer;
} edge;

typedef struct picture {
    const fc_plan_view *v;
    box *box;
    edge *edge;
    uint32_t **layer;
    uint32_t *in_layer; /* boxes of each */
    uint32_t nbox, nedge, nlayer, nbuffer;
    double width, height;
} picture;

/* ---- boxes ------------------------------------------------------------------------------------
 */

/* At most LABEL bytes, cut between characters. */
static void label(box *b, const char *text) {
    char *to = b->text[b->lines++];
    size_t n = strlen(text);
    if (n > LABEL) {
        n = LABEL - 1;
        while (n && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
        snprintf(to, LABEL + 8, "%.*s\xe2\x80\xa6", (int)n, text);
    } else {
        memcpy(to, text, n + 1);
    }
    const double width = CHAR * (double)(n + 1) + 2 * PAD;
    if (width > b->width) b->width = width;
    b->height = LINE * b->lines + PAD;
}

static void buffer_box(picture *p, uint32_t i) {
    box *b = &p->box[i];
    char bytes[32];
    fc_str s;
    fc_str_init(&s, p->v->s->alloc);
    *b = (box){.number = i};
    fc_buffer_name(p->v->p->plan, i, &s);
    fc_str_add(&s, ": ");
    fc_buffer_type(p->v->p->plan, i, &s);
    label(b, s.data);
    if (p->v->bytes) label(b, fc_show_bytes(bytes, (int64_t)p->v->bytes[i]));
    fc_str_free(&s);
}

static void kernel_box(picture *p, uint32_t i) {
    const fc_step *st = p->v->p->plan->steps.at[i];
    const fc_kernel_view *k = &p->v->kernels[i];
    box *b = &p->box[p->nbuffer + i];
    char name[16], text[80], us[32];
    *b = (box){.number = i, .kernel = true, .used = true};
    snprintf(text, sizeof text, "%s %s", fc_step_name(name, p->v->p->plan, i), k->report.schedule);
    label(b, text);
    label(b, st->what);
    if (k->seconds > 0)
        label(b, fc_show_seconds(us, k->seconds));
    else if (k->report.predicted > 0)
        label(b, fc_show_seconds(us, k->report.predicted));
}

static void connect(picture *p, uint32_t from, uint32_t to, uint32_t buffer) {
    p->box[from].used = p->box[to].used = true;
    if (p->box[to].layer <= p->box[from].layer) p->box[to].layer = p->box[from].layer + 1;
    p->edge[p->nedge++] = (edge){from, to, buffer};
}

/* What a step reads, then what it writes, so that its layer is known by then. */
static void connect_step(picture *p, uint32_t i) {
    const fc_kernel *k = &p->v->p->plan->steps.at[i]->kernel;
    const uint32_t me = p->nbuffer + i;
    for (size_t a = 0; a < k->params.len; a++)
        if (!k->params.at[a].is_dim) connect(p, k->params.at[a].source, me, k->params.at[a].source);
    for (size_t a = 0; a < k->args.len; a++)
        if (!k->args.at[a].written) connect(p, k->args.at[a].buffer, me, k->args.at[a].buffer);
    for (size_t a = 0; a < k->args.len; a++)
        if (k->args.at[a].written) connect(p, me, k->args.at[a].buffer, k->args.at[a].buffer);
}

static bool make(picture *p) {
    const fc_plan *plan = p->v->p->plan;
    fc_arena *arena = p->v->s->arena;
    size_t edges = 1;
    p->nbuffer = (uint32_t)plan->buffers.len;
    p->nbox = p->nbuffer + p->v->count;
    for (uint32_t i = 0; i < p->v->count; i++)
        edges += plan->steps.at[i]->kernel.args.len + plan->steps.at[i]->kernel.params.len;
    p->box = fc_arena_alloc(arena, (p->nbox + 1) * sizeof *p->box);
    p->edge = fc_arena_alloc(arena, edges * sizeof *p->edge);
    if (!p->box || !p->edge) return false;
    for (uint32_t i = 0; i < p->nbuffer; i++) buffer_box(p, i);
    for (uint32_t i = 0; i < p->v->count; i++) kernel_box(p, i);
    for (uint32_t i = 0; i < p->v->count; i++) connect_step(p, i);
    for (uint32_t i = 0; i < p->nbuffer; i++) /* a result that is an input has no kernel */
        p->box[i].used |= plan->buffers.at[i].kind != FC_BUF_TEMP;
    return true;
}

/* ---- places -----------------------------------------------------------------------------------
 */

static bool fill_layers(picture *p) {
    fc_arena *arena = p->v->s->arena;
    for (uint32_t i = 0; i < p->nbox; i++)
        if (p->box[i].layer >= p->nlayer) p->nlayer = p->box[i].layer + 1;
    p->in_layer = fc_arena_alloc(arena, (p->nlayer + 1) * sizeof *p->in_layer);
    p->layer = fc_arena_alloc(arena, (p->nlayer + 1) * sizeof *p->layer);
    uint32_t *all = fc_arena_alloc(arena, (p->nbox + 1) * sizeof *all);
    if (!p->in_layer || !p->layer || !all) return false;
    memset(p->in_layer, 0, (p->nlayer + 1) * sizeof *p->in_layer);
    for (uint32_t i = 0; i < p->nbox; i++) p->in_layer[p->box[i].layer] += p->box[i].used;
    for (uint32_t l = 0; l < p->nlayer; l++) {
        p->layer[l] = all;
        all += p->in_layer[l];
        p->in_layer[l] = 0;
    }
    for (uint32_t i = 0; i < p->nbox; i++)
        if (p->box[i].used) p->layer[p->box[i].layer][p->in_layer[p->box[i].layer]++] = i;
    return true;
}

static void place_layer(picture *p, uint32_t l) {
    double width = 0;
    for (uint32_t i = 0; i < p->in_layer[l]; i++)
        width += p->box[p->layer[l][i]].width + (i ? GAP : 0);
    double x = -width / 2;
    for (uint32_t i = 0; i < p->in_layer[l]; i++) {
        box *b = &p->box[p->layer[l][i]];
        b->x = x + b->width / 2;
        x += b->width + GAP;
    }
    if (width > p->width) p->width = width;
}

/* Insertion keeps the order of equals, and layers that are in order already cost little. */
static void sort_layer(picture *p, uint32_t l) {
    uint32_t *at = p->layer[l];
    for (uint32_t i = 1; i < p->in_layer[l]; i++) {
        const uint32_t b = at[i];
        uint32_t k = i;
        for (; k && p->box[at[k - 1]].sum > p->box[b].sum; k--) at[k] = at[k - 1];
        at[k] = b;
    }
    place_layer(p, l);
}

/* Orders every layer by the mean place of the boxes above it (down), or below it. */
static void order(picture *p, bool down) {
    for (uint32_t l = 0; l < p->nlayer; l++) {
        const uint32_t at = down ? l : p->nlayer - 1 - l;
        for (uint32_t i = 0; i < p->nbox; i++) p->box[i].sum = p->box[i].n = 0;
        for (uint32_t i = 0; i < p->nedge; i++) {
            const uint32_t me = down ? p->edge[i].to : p->edge[i].from;
            const uint32_t other = down ? p->edge[i].from : p->edge[i].to;
            if (p->box[me].layer != at) continue;
            p->box[me].sum += p->box[other].x;
            p->box[me].n++;
        }
        for (uint32_t i = 0; i < p->in_layer[at]; i++) {
            box *b = &p->box[p->layer[at][i]];
            b->sum = b->n ? b->sum / b->n : b->x;
        }
        sort_layer(p, at);
    }
}

static void place(picture *p) {
    double y = GAP;
    for (uint32_t l = 0; l < p->nlayer; l++) place_layer(p, l);
    for (int i = 0; i < 2 && p->nlayer <= 200; i++) {
        order(p, true);
        order(p, false);
    }
    for (uint32_t l = 0; l < p->nlayer; l++) {
        double height = 0;
        for (uint32_t i = 0; i < p->in_layer[l]; i++) {
            box *b = &p->box[p->layer[l][i]];
            b->y = y;
            if (b->height > height) height = b->height;
        }
        y += height + DROP;
    }
    p->height = y - DROP + GAP;
    p->width += 2 * GAP;
    for (uint32_t i = 0; i < p->nbox; i++) p->box[i].x += p->width / 2;
}

/* ---- text -------------------------------------------------------------------------------------
 */

const char fc_plan_svg_style[] =
    "<style>.plan{--ink:#1b1b1f;--line:#6a6a76;--in:#e3ecfb;--out:#dff2e1;--temp:#fdf0d5;--k:#fff}"
    "@media(prefers-color-scheme:dark){.plan{--ink:#ececf1;--line:#9a9aa8;--in:#22314d;"
    "--out:#203d27;--temp:#473a1c;--k:#1d1d22}}"
    ".plan rect{stroke:var(--line)}.plan line{stroke:var(--line)}"
    ".plan text{font:12px ui-monospace,monospace;fill:var(--ink);text-anchor:middle}"
    ".plan .in{fill:var(--in)}.plan .out{fill:var(--out)}.plan .temp{fill:var(--temp)}"
    ".plan .k{fill:var(--k);stroke-width:2}</style>\n";

static double thickness(const picture *p, uint32_t buffer) {
    double most = 0;
    if (!p->v->bytes) return 1;
    for (uint32_t i = 0; i < p->nbuffer; i++)
        if ((double)p->v->bytes[i] > most) most = (double)p->v->bytes[i];
    return most > 0 ? 1 + 5 * (double)p->v->bytes[buffer] / most : 1;
}

static void draw_edge(const picture *p, const edge *x, fc_str *out) {
    const box *a = &p->box[x->from], *b = &p->box[x->to];
    const int tenths = (int)(10 * thickness(p, x->buffer)); /* no locale has a say in it */
    fc_str_printf(out,
                  "<line x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\" stroke-width=\"%d.%d\" "
                  "marker-end=\"url(#to)\"/>\n",
                  a->x, a->y + a->height, b->x, b->y, tenths / 10, tenths % 10);
}

/* What a pointer that rests on it, and a screen reader, says. */
static void draw_title(const picture *p, const box *b, fc_str *out) {
    const fc_plan *plan = p->v->p->plan;
    char name[16];
    fc_str_add(out, "<title>");
    if (b->kernel) {
        const fc_step *st = plan->steps.at[b->number];
        fc_str_printf(out, "%s makes ", fc_step_name(name, plan, b->number));
        fc_markup_text(out, st->what);
        fc_str_add(out, "; reads ");
        fc_plan_bytes(p->v, b->number, false, out);
        fc_str_add(out, ", writes ");
        fc_plan_bytes(p->v, b->number, true, out);
        if (*st->why) fc_str_add(out, "; apart: ");
        fc_markup_text(out, st->why);
    } else {
        static const char *const kind[] = {"input", "result", "stored between kernels"};
        fc_str_add(out, kind[plan->buffers.at[b->number].kind]);
    }
    fc_str_add(out, "</title>");
}

static void draw_box(const picture *p, const box *b, bool links, fc_str *out) {
    static const char *const kind[] = {"in", "out", "temp"};
    const fc_plan *plan = p->v->p->plan;
    char name[16];
    const bool link = b->kernel && links;
    if (link) fc_str_printf(out, "<a href=\"#%s\">", fc_step_name(name, plan, b->number));
    fc_str_add(out, "<g>");
    draw_title(p, b, out);
    fc_str_printf(out,
                  "<rect class=\"%s\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" "
                  "rx=\"%d\"/>",
                  b->kernel ? "k" : kind[plan->buffers.at[b->number].kind], b->x - b->width / 2,
                  b->y, b->width, b->height, b->kernel ? 2 : 10);
    for (uint32_t i = 0; i < b->lines; i++) {
        fc_str_printf(out, "<text x=\"%.0f\" y=\"%.0f\">", b->x, b->y + LINE * (i + 1));
        fc_markup_text(out, b->text[i]);
        fc_str_add(out, "</text>");
    }
    fc_str_printf(out, "</g>%s\n", link ? "</a>" : "");
}

static void too_many(const picture *p, bool links, fc_str *out) {
    fc_str_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plan\" width=\"600\" "
                  "height=\"40\">%s<text x=\"300\" y=\"25\">%u kernels are too many for a "
                  "picture</text></svg>\n",
                  links ? "" : fc_plan_svg_style, p->v->count);
}

void fc_plan_svg(const fc_plan_view *v, bool links, fc_str *out) {
    picture p = {.v = v};
    if (v->p->plan->buffers.len + v->count > BOXES) {
        too_many(&p, links, out);
        return;
    }
    if (!make(&p) || !fill_layers(&p)) {
        out->oom = true;
        return;
    }
    place(&p);
    fc_str_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plan\" role=\"img\" "
                  "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<title>",
                  p.width, p.height, p.width, p.height);
    fc_markup_text(out, v->s->title);
    fc_str_printf(out,
                  "</title>\n%s<defs><marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
                  "markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" "
                  "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#808090\"/></marker></defs>\n",
                  links ? "" : fc_plan_svg_style);
    for (uint32_t i = 0; i < p.nedge; i++) draw_edge(&p, &p.edge[i], out);
    for (uint32_t i = 0; i < p.nbox; i++)
        if (p.box[i].used) draw_box(&p, &p.box[i], links, out);
    fc_str_add(out, "</svg>\n");
}
