/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sanitizers.c - linked into every program of a sanitizer build: what the sanitizers have to know
 * about this project, so that no environment variable is needed.
 *
 * The CUDA driver maps memory where AddressSanitizer keeps a gap. Tests of failing allocations ask
 * for more than there is. LeakSanitizer takes what lies before a block of a library's thread-local
 * memory for its size and place, which it has not been since glibc 2.25; the check for leaks then
 * ends in a fault ("Tracer caught signal 11"), so such blocks are not followed. LLVM, NVRTC and the
 * driver are third-party code that keeps memory until the process ends.
 *
 * Blocks remember five callers, not thirty: walking the stack at each of LLVM's allocations is an
 * eighth of the tests' time. ASAN_OPTIONS=malloc_context_size=30 shows the rest of a report. */
const char *__asan_default_options(void);
const char *__lsan_default_suppressions(void);
const char *__ubsan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void) {
    return "protect_shadow_gap=0:allocator_may_return_null=1:intercept_tls_get_addr=0:"
           "malloc_context_size=5";
}

__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void) {
    return "leak:libLLVM\nleak:libnvrtc\nleak:libcuda\nleak:libnvidia\n";
}

__attribute__((visibility("default"))) const char *__ubsan_default_options(void) {
    return "print_stacktrace=1";
}
