/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot_image.c - see aot_image.h. */
#include "frontend/cli/aot_image.h"

void fc_image_init(fc_image *m, const fc_alloc *alloc) {
    memset(m, 0, sizeof *m);
    m->alloc = alloc;
}

void fc_image_free(fc_image *m) {
    for (size_t i = 0; i < m->blocks.len; i++) {
        fc_str_free(&m->blocks.at[i].bytes);
        fc_vec_free(m->alloc, &m->blocks.at[i].pointers);
    }
    fc_vec_free(m->alloc, &m->blocks);
}

uint32_t fc_image_add(fc_image *m, const void *data, size_t size) {
    fc_image_block b = {0};
    fc_str_init(&b.bytes, m->alloc);
    fc_str_addn(&b.bytes, data, size);
    m->oom |= b.bytes.oom;
    if (fc_push(m->alloc, &m->blocks, b)) return (uint32_t)(m->blocks.len - 1);
    fc_str_free(&b.bytes);
    m->oom = true;
    return FC_NO_BLOCK;
}

static void point(fc_image *m, uint32_t block, fc_image_pointer p) {
    if (block >= m->blocks.len) return; /* out of memory */
    m->oom |= !fc_push(m->alloc, &m->blocks.at[block].pointers, p);
}

void fc_image_point(fc_image *m, uint32_t block, size_t at, uint32_t to) {
    point(m, block, (fc_image_pointer){.at = at, .block = to});
}

void fc_image_point_symbol(fc_image *m, uint32_t block, size_t at, const char *symbol) {
    point(m, block, (fc_image_pointer){.at = at, .block = FC_NO_BLOCK, .symbol = symbol});
}

/* Bytes from `at` up to the next pointer, or to the end. */
static size_t run_of(const fc_image_block *b, size_t at, size_t next) {
    return (next < b->pointers.len ? b->pointers.at[next].at : b->bytes.len) - at;
}

static void write_bytes(const char *p, size_t n, fc_str *out) {
    static const char digits[] = "0123456789ABCDEF";
    fc_str_printf(out, "[%zu x i8] c\"", n);
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)p[i];
        fc_str_char(out, '\\');
        fc_str_char(out, digits[c >> 4]);
        fc_str_char(out, digits[c & 15]);
    }
    fc_str_char(out, '"');
}

static void write_pointer(const fc_image_pointer *p, fc_str *out) {
    if (p->symbol)
        fc_str_printf(out, "ptr @%s", p->symbol);
    else if (p->block == FC_NO_BLOCK)
        fc_str_add(out, "ptr null");
    else
        fc_str_printf(out, "ptr @fc.%u", p->block);
}

/* Once as the type, once as the value: runs of bytes and pointers in turn. */
static void write_parts(const fc_image_block *b, bool type, fc_str *out) {
    size_t at = 0;
    fc_str_add(out, "<{ ");
    for (size_t i = 0; i <= b->pointers.len; i++) {
        const size_t n = run_of(b, at, i);
        if (type)
            fc_str_printf(out, "[%zu x i8]", n);
        else
            write_bytes(b->bytes.data + at, n, out);
        if (i == b->pointers.len) break;
        fc_str_add(out, ", ");
        if (type)
            fc_str_add(out, "ptr");
        else
            write_pointer(&b->pointers.at[i], out);
        fc_str_add(out, ", ");
        at = b->pointers.at[i].at + sizeof(void *);
    }
    fc_str_add(out, " }>");
}

void fc_image_write(const fc_image *m, fc_str *out) {
    for (size_t i = 0; i < m->blocks.len; i++) {
        fc_str_printf(out, "@fc.%zu = internal constant ", i);
        write_parts(&m->blocks.at[i], true, out);
        fc_str_char(out, ' ');
        write_parts(&m->blocks.at[i], false, out);
        fc_str_add(out, ", align 16\n");
    }
    out->oom |= m->oom;
}
