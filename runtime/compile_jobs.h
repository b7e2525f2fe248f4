/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* compile_jobs.h - several texts compiled at once, on as many threads as the process may use. */
#ifndef FUSEC_RUNTIME_COMPILE_JOBS_H
#define FUSEC_RUNTIME_COMPILE_JOBS_H

#include "runtime/device.h"

typedef struct fc_compile_job {
    const char *text;
    const char *quick; /* the same for FC_QUICK; NULL: `text` is */
    fc_effort effort;
    bool left_out;   /* it needs no result */
    bool has_full;   /* with full effort it is being compiled already */
    fc_bytes binary; /* of the device's allocator */
    fc_error error;  /* code is the status */
} fc_compile_job;

enum { FC_COMPILE_THREADS = 8 };

static inline const char *fc_compile_text(const fc_compile_job *j) {
    return j->effort == FC_QUICK && j->quick ? j->quick : j->text;
}

int fc_compile_threads(void); /* at least 1 */

/* Each job has its own result. Without threads, one after the other. */
void fc_compile_jobs(fc_device *d, uint32_t mode, fc_compile_job *jobs, size_t n);

#endif
