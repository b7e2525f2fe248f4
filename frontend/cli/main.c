/* main.c - the entry of `fusec`. Everything else is in command.c, so that tests can link it. */
#include "frontend/cli/command.h"

int main(int argc, char **argv) {
    return fc_cli_main(argc, argv);
}
