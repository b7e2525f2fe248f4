/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* aot_runtime.c - the run time of objects, which is an archive made when the command is built
 * (cmake/FusecAot.cmake), as a part of the command. */
#include "frontend/cli/aot.h"

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".hidden fc_aot_archive\n"
        ".globl fc_aot_archive\n"
        "fc_aot_archive:\n"
        ".incbin \"" FUSEC_AOT_ARCHIVE "\"\n"
        ".hidden fc_aot_archive_end\n"
        ".globl fc_aot_archive_end\n"
        "fc_aot_archive_end:\n"
        ".byte 0\n"
        ".text\n");

extern const unsigned char fc_aot_archive[], fc_aot_archive_end[];

void fc_aot_runtime(const unsigned char **data, size_t *size) {
    *data = fc_aot_archive;
    *size = (size_t)(fc_aot_archive_end - fc_aot_archive);
}
