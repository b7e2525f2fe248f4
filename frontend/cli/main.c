/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* main.c - the entry of `fusec`. Everything else is in command.c, so that tests can link it. */
#include <unistd.h>

#include "runtime/compile/helper.h"
#include "frontend/cli/command.h"

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], FC_HELPER_FLAG)) _exit(fc_helper_serve(argc, argv));
    return fc_cli_main(argc, argv);
}
