/* compile_jobs.h - several texts compiled at once, on as many threads as the process may use. */
#ifndef FUSEC_RUNTIME_COMPILE_JOBS_H
#define FUSEC_RUNTIME_COMPILE_JOBS_H

#include "runtime/device.h"

typedef struct fc_compile_job {
    const char *text;
    fc_effort effort;
    fc_bytes binary; /* of the device's allocator */
    fc_error error;  /* code is the status */
} fc_compile_job;

enum { FC_COMPILE_THREADS = 8 };

int fc_compile_threads(void); /* at least 1 */

/* Each job has its own result. Without threads, one after the other. */
void fc_compile_jobs(fc_device *d, uint32_t mode, fc_compile_job *jobs, size_t n);

#endif
