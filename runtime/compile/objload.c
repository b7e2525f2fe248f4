/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* objload.c - see objload.h. In this order: check the headers, place the sections, count the stubs,
 * map, copy, relocate, protect. After `check_tables` every section header is known to lie inside
 * the file. */
#include "runtime/compile/objload.h"
#include "runtime/compile/objreloc.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__aarch64__)
#define HOST_MACHINE FC_EM_AARCH64
#else
#define HOST_MACHINE FC_EM_X86_64
#endif

enum {
    MAX_SECTIONS = 4096,
    MAX_SYMBOLS = 1 << 20,
    MAX_MAPPED = 64 << 20,
    STUB_SIZE = 16,
    MAX_NAME = 255
};
#define NO_SLOT UINT32_MAX

typedef enum region { CODE, CONST, DATA, N_REGIONS, SKIPPED = N_REGIONS } region;

typedef struct section {
    Elf64_Shdr h;
    region where;
    uint64_t offset; /* in its region, then (after `place`) in the mapping */
} section;

typedef struct export_entry {
    char *name;
    uint64_t offset;
} export_entry;

struct fc_object {
    const fc_alloc *alloc;
    uint8_t *base;
    size_t size;
    FC_VEC(export_entry) exports;
};

typedef struct loader {
    const fc_alloc *alloc;
    const uint8_t *data;
    size_t len;
    fc_find_symbol *find;
    fc_error *e;
    fc_object *o;

    section *sections;
    size_t n_sections;
    size_t names, symtab, strtab; /* section numbers */
    size_t n_syms;
    uint32_t *slot_of; /* symbol -> stub, or NO_SLOT */
    uint32_t n_slots;
    uint64_t start[N_REGIONS], end[N_REGIONS]; /* in the mapping; the end is a page boundary */
    uint64_t stubs;                            /* where they start in the mapping */
} loader;

#define BAD(...) fc_fail(l->e, FUSEC_LLVM, "object file: " __VA_ARGS__)

/* ---- headers ------------------------------------------------------------------------------- */

static bool inside(const loader *l, uint64_t offset, uint64_t size) {
    return offset <= l->len && size <= l->len - offset;
}

static fusec_status check_header(loader *l) {
    Elf64_Ehdr h;
    if (l->len < sizeof h) return BAD("too short");
    memcpy(&h, l->data, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_ident[EI_VERSION] != EV_CURRENT)
        return BAD("not little-endian 64-bit ELF");
    if (h.e_type != ET_REL) return BAD("not relocatable");
    if (h.e_machine != HOST_MACHINE) return BAD("for another processor (%d)", h.e_machine);
    if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shnum == 0 || h.e_shnum > MAX_SECTIONS ||
        h.e_shstrndx >= h.e_shnum)
        return BAD("bad section table");
    if (!inside(l, h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr)))
        return BAD("the section table lies outside");
    l->n_sections = h.e_shnum;
    l->names = h.e_shstrndx;
    l->sections = fc_calloc(l->alloc, l->n_sections, sizeof *l->sections);
    if (!l->sections) return fc_oom(l->e);
    for (size_t i = 0; i < l->n_sections; i++)
        memcpy(&l->sections[i].h, l->data + h.e_shoff + i * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
    return FUSEC_OK;
}

/* A string table must end in a NUL; then every offset into it gives a string. */
static bool is_strtab(const loader *l, size_t number) {
    if (number >= l->n_sections) return false;
    const Elf64_Shdr *h = &l->sections[number].h;
    return h->sh_type == SHT_STRTAB && h->sh_size > 0 &&
           l->data[h->sh_offset + h->sh_size - 1] == 0;
}

static const char *string_at(const loader *l, size_t strtab, uint64_t offset) {
    const Elf64_Shdr *h = &l->sections[strtab].h;
    return offset < h->sh_size ? (const char *)l->data + h->sh_offset + offset : "";
}

static fusec_status check_tables(loader *l) {
    for (size_t i = 0; i < l->n_sections; i++) {
        const Elf64_Shdr *h = &l->sections[i].h;
        if (h->sh_type == SHT_NULL || h->sh_type == SHT_NOBITS) continue;
        if (!inside(l, h->sh_offset, h->sh_size)) return BAD("section %zu lies outside", i);
        if (h->sh_type == SHT_SYMTAB && l->symtab) return BAD("two symbol tables");
        if (h->sh_type == SHT_SYMTAB) l->symtab = i;
    }
    if (!is_strtab(l, l->names)) return BAD("bad section names");
    if (!l->symtab) return BAD("no symbol table");
    const Elf64_Shdr *h = &l->sections[l->symtab].h;
    l->strtab = h->sh_link;
    l->n_syms = (size_t)(h->sh_size / sizeof(Elf64_Sym));
    if (h->sh_entsize != sizeof(Elf64_Sym) || l->n_syms > MAX_SYMBOLS || !is_strtab(l, l->strtab))
        return BAD("bad symbol table");
    return FUSEC_OK;
}

static Elf64_Sym symbol_at(const loader *l, size_t i) {
    Elf64_Sym s;
    memcpy(&s, l->data + l->sections[l->symtab].h.sh_offset + i * sizeof s, sizeof s);
    return s;
}

/* ---- placing ------------------------------------------------------------------------------- */

static fusec_status classify(loader *l, size_t number) {
    section *s = &l->sections[number];
    const char *name = string_at(l, l->names, s->h.sh_name);
    s->where = SKIPPED;
    if (!(s->h.sh_flags & SHF_ALLOC)) return FUSEC_OK;
    /* Nothing unwinds through a kernel, and notes are for linkers. */
    if (strcmp(name, ".eh_frame") == 0 || s->h.sh_type == SHT_NOTE) return FUSEC_OK;
    if (s->h.sh_type != SHT_PROGBITS && s->h.sh_type != SHT_NOBITS)
        return BAD("section %.60s of type %u", name, s->h.sh_type);
    if (s->h.sh_flags & (SHF_TLS | SHF_COMPRESSED))
        return BAD("section %.60s is thread-local or compressed", name);
    if (s->h.sh_flags & SHF_EXECINSTR)
        s->where = CODE;
    else if ((s->h.sh_flags & SHF_WRITE) && strncmp(name, ".data.rel.ro", 12) != 0)
        s->where = DATA;
    else
        s->where = CONST;
    return FUSEC_OK;
}

static uint64_t round_up(uint64_t n, uint64_t to) {
    return (n + to - 1) & ~(to - 1);
}

/* Gives each section its offset in its region. Sizes stay under MAX_MAPPED, so nothing can wrap. */
static fusec_status place_sections(loader *l, uint64_t page) {
    uint64_t used[N_REGIONS] = {0};
    for (size_t i = 0; i < l->n_sections; i++) {
        section *s = &l->sections[i];
        if (s->where == SKIPPED) continue;
        uint64_t align = s->h.sh_addralign ? s->h.sh_addralign : 1;
        if ((align & (align - 1)) != 0 || align > page) return BAD("alignment of section %zu", i);
        s->offset = round_up(used[s->where], align);
        if (s->h.sh_size > MAX_MAPPED || s->offset + s->h.sh_size > MAX_MAPPED)
            return BAD("too large");
        used[s->where] = s->offset + s->h.sh_size;
    }
    l->stubs = round_up(used[CODE], STUB_SIZE);
    used[CODE] = l->stubs + (uint64_t)l->n_slots * STUB_SIZE;
    uint64_t at = 0;
    for (int r = 0; r < N_REGIONS; r++) {
        l->start[r] = at;
        at = l->end[r] = round_up(at + used[r], page);
    }
    if (at > MAX_MAPPED) return BAD("too large");
    for (size_t i = 0; i < l->n_sections; i++)
        if (l->sections[i].where != SKIPPED)
            l->sections[i].offset += l->start[l->sections[i].where];
    l->o->size = (size_t)at;
    return FUSEC_OK;
}

/* ---- relocations --------------------------------------------------------------------------- */

typedef fusec_status (*reloc_fn)(loader *l, const section *target, const Elf64_Rela *r,
                                 fc_reloc_base base, unsigned width);

static fusec_status each_in(loader *l, const section *table, reloc_fn fn) {
    const section *target = &l->sections[table->h.sh_info];
    size_t n = (size_t)(table->h.sh_size / sizeof(Elf64_Rela));
    for (size_t i = 0; i < n; i++) {
        Elf64_Rela r;
        unsigned width;
        memcpy(&r, l->data + table->h.sh_offset + i * sizeof r, sizeof r);
        uint32_t type = (uint32_t)ELF64_R_TYPE(r.r_info);
        if (type == 0) continue; /* R_*_NONE */
        fc_reloc_base base = fc_reloc_kind(HOST_MACHINE, type, &width);
        if (base == FC_RELOC_UNKNOWN) return BAD("relocation of type %u", type);
        if (r.r_offset > target->h.sh_size || width > target->h.sh_size - r.r_offset ||
            ELF64_R_SYM(r.r_info) >= l->n_syms || target->h.sh_type == SHT_NOBITS)
            return BAD("a relocation lies outside");
        FC_TRY(fn(l, target, &r, base, width));
    }
    return FUSEC_OK;
}

static fusec_status each_relocation(loader *l, reloc_fn fn) {
    for (size_t i = 0; i < l->n_sections; i++) {
        const section *s = &l->sections[i];
        if (s->h.sh_type != SHT_RELA && s->h.sh_type != SHT_REL) continue;
        if (s->h.sh_info >= l->n_sections) return BAD("relocations of no section");
        if (l->sections[s->h.sh_info].where == SKIPPED) continue;
        if (s->h.sh_type == SHT_REL || s->h.sh_entsize != sizeof(Elf64_Rela) ||
            s->h.sh_link != l->symtab)
            return BAD("bad relocation table");
        FC_TRY(each_in(l, s, fn));
    }
    return FUSEC_OK;
}

/* Functions from outside may be further away than a branch reaches, so each gets a stub beside the
 * code: a jump through the 8 bytes that follow it. Those 8 bytes also serve as the slot of GOT
 * relocations. */
static bool goes_outside(const loader *l, size_t symbol, unsigned width) {
    return width == 4 && symbol_at(l, symbol).st_shndx == SHN_UNDEF;
}

static fusec_status count_slot(loader *l, const section *target, const Elf64_Rela *r,
                               fc_reloc_base base, unsigned width) {
    size_t i = ELF64_R_SYM(r->r_info);
    (void)target;
    if ((goes_outside(l, i, width) || base == FC_RELOC_GOT) && l->slot_of[i] == NO_SLOT)
        l->slot_of[i] = l->n_slots++;
    return FUSEC_OK;
}

/* The address that the symbol stands for. */
static fusec_status address_of(loader *l, size_t i, uint64_t *out) {
    Elf64_Sym s = symbol_at(l, i);
    const char *name = string_at(l, l->strtab, s.st_name);
    if (ELF64_ST_TYPE(s.st_info) == STT_TLS || ELF64_ST_TYPE(s.st_info) == STT_GNU_IFUNC)
        return BAD("symbol %.60s of type %d", name, ELF64_ST_TYPE(s.st_info));
    if (s.st_shndx == SHN_UNDEF) {
        fc_fn fn = l->find(name);
        if (!fn) return BAD("it needs %.100s, which kernels can't call", name);
        *out = (uint64_t)(uintptr_t)fn;
        return FUSEC_OK;
    }
    if (s.st_shndx >= l->n_sections || l->sections[s.st_shndx].where == SKIPPED ||
        s.st_value > l->sections[s.st_shndx].h.sh_size)
        return BAD("symbol %.60s lies outside", name);
    *out = (uint64_t)(uintptr_t)l->o->base + l->sections[s.st_shndx].offset + s.st_value;
    return FUSEC_OK;
}

static fusec_status relocate(loader *l, const section *target, const Elf64_Rela *r,
                             fc_reloc_base base, unsigned width) {
    size_t i = ELF64_R_SYM(r->r_info);
    uint64_t value = 0, offset = target->offset + r->r_offset;
    FC_TRY(address_of(l, i, &value));
    if (l->slot_of[i] != NO_SLOT) {
        uint64_t stub = (uint64_t)(uintptr_t)l->o->base + l->stubs + l->slot_of[i] * STUB_SIZE;
        if (base == FC_RELOC_GOT)
            value = stub + 8;
        else if (goes_outside(l, i, width))
            value = stub;
    }
    if (!fc_reloc_apply(HOST_MACHINE, (uint32_t)ELF64_R_TYPE(r->r_info), l->o->base + offset,
                        (uint64_t)(uintptr_t)l->o->base + offset, value + (uint64_t)r->r_addend))
        return BAD("a relocation of type %u does not reach", (unsigned)ELF64_R_TYPE(r->r_info));
    return FUSEC_OK;
}

/* ---- filling ------------------------------------------------------------------------------- */

static fusec_status write_stubs(loader *l) {
#if defined(__aarch64__)
    static const uint8_t jump[8] = {0x50, 0,    0,    0x58,
                                    0,    0x02, 0x1f, 0xd6}; /* ldr x16, +8; br x16 */
#else
    static const uint8_t jump[8] = {0xff, 0x25, 2, 0, 0, 0, 0x66, 0x90}; /* jmp *[rip + 2]; nop */
#endif
    for (size_t i = 0; i < l->n_syms; i++) {
        uint64_t address = 0;
        if (l->slot_of[i] == NO_SLOT) continue;
        FC_TRY(address_of(l, i, &address));
        uint8_t *stub = l->o->base + l->stubs + l->slot_of[i] * STUB_SIZE;
        memcpy(stub, jump, sizeof jump);
        memcpy(stub + 8, &address, sizeof address);
    }
    return FUSEC_OK;
}

static fusec_status add_exports(loader *l) {
    for (size_t i = 1; i < l->n_syms; i++) {
        Elf64_Sym s = symbol_at(l, i);
        if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || ELF64_ST_BIND(s.st_info) == STB_LOCAL) continue;
        if (s.st_shndx == SHN_UNDEF || s.st_shndx >= l->n_sections) continue;
        const section *in = &l->sections[s.st_shndx];
        if (in->where != CODE || s.st_value >= in->h.sh_size) return BAD("a function lies outside");
        const char *name = string_at(l, l->strtab, s.st_name);
        if (strnlen(name, MAX_NAME + 1) > MAX_NAME) return BAD("a name is too long");
        export_entry x = {fc_strdup(l->alloc, name), in->offset + s.st_value};
        if (x.name && fc_push(l->alloc, &l->o->exports, x)) continue;
        fc_free(l->alloc, x.name);
        return fc_oom(l->e);
    }
    return FUSEC_OK;
}

static fusec_status protect(loader *l) {
    static const int rights[N_REGIONS] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    uint8_t *base = l->o->base;
    __builtin___clear_cache((char *)base, (char *)base + l->end[CODE]);
    for (int r = 0; r < N_REGIONS; r++) {
        size_t size = (size_t)(l->end[r] - l->start[r]);
        if (size && mprotect(base + l->start[r], size, rights[r]) != 0)
            return BAD("the system does not allow generated code: %s", strerror(errno));
    }
    return FUSEC_OK;
}

static fusec_status map_and_fill(loader *l) {
    if (l->end[CODE] == 0) return BAD("no code");
    void *p = mmap(NULL, l->o->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return fc_oom(l->e);
    l->o->base = p;
    for (size_t i = 0; i < l->n_sections; i++) {
        const section *s = &l->sections[i];
        if (s->where != SKIPPED && s->h.sh_type == SHT_PROGBITS && s->h.sh_size)
            memcpy(l->o->base + s->offset, l->data + s->h.sh_offset, (size_t)s->h.sh_size);
    }
    FC_TRY(write_stubs(l));
    FC_TRY(each_relocation(l, relocate));
    FC_TRY(add_exports(l));
    return protect(l);
}

static fusec_status load(loader *l) {
    long page = sysconf(_SC_PAGESIZE);
    FC_TRY(check_header(l));
    FC_TRY(check_tables(l));
    l->slot_of = fc_malloc(l->alloc, (l->n_syms + 1) * sizeof *l->slot_of);
    if (!l->slot_of) return fc_oom(l->e);
    for (size_t i = 0; i < l->n_syms; i++) l->slot_of[i] = NO_SLOT;
    for (size_t i = 0; i < l->n_sections; i++) FC_TRY(classify(l, i));
    FC_TRY(each_relocation(l, count_slot));
    FC_TRY(place_sections(l, page > 0 ? (uint64_t)page : 4096));
    return map_and_fill(l);
}

/* ---- the interface ------------------------------------------------------------------------- */

fusec_status fc_object_load(const fc_alloc *alloc, const uint8_t *data, size_t len,
                            fc_find_symbol *find, fc_object **out, fc_error *e) {
    loader l = {.alloc = alloc, .data = data, .len = len, .find = find, .e = e};
    *out = NULL;
    l.o = fc_calloc(alloc, 1, sizeof *l.o);
    if (!l.o) return fc_oom(e);
    l.o->alloc = alloc;
    fusec_status st = load(&l);
    fc_free(alloc, l.sections);
    fc_free(alloc, l.slot_of);
    if (st == FUSEC_OK)
        *out = l.o;
    else
        fc_object_unload(l.o);
    return st;
}

fc_fn fc_object_function(const fc_object *o, const char *name) {
    for (size_t i = 0; i < o->exports.len; i++) {
        if (strcmp(o->exports.at[i].name, name) != 0) continue;
        fc_fn fn = NULL;
        void *p = o->base + o->exports.at[i].offset;
        memcpy(&fn, &p, sizeof fn); /* ISO C has no cast from an object to a function */
        return fn;
    }
    return NULL;
}

size_t fc_object_mapped_bytes(const fc_object *o) {
    return o->size;
}

void fc_object_unload(fc_object *o) {
    if (!o) return;
    if (o->base) munmap(o->base, o->size);
    for (size_t i = 0; i < o->exports.len; i++) fc_free(o->alloc, o->exports.at[i].name);
    fc_vec_free(o->alloc, &o->exports);
    fc_free(o->alloc, o);
}
