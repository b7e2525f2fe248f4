/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Builds against the installed headers and starts with the installed library. */
#include <fusec/dtype.h>
#include <fusec/status.h>
#if defined(__has_include)
#if __has_include(<fusec/fusec.h>)
#include <fusec/fusec.h>
#endif
#endif

int main(void) {
    return FUSEC_OK;
}
