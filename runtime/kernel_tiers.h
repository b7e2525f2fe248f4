/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* kernel_tiers.h - tiered compilation: calls run quick code while the full code is compiled behind
 * them, and the full code once it is there.
 *
 * A tier is one text that is compiled with full effort in the background, and the kernels in it,
 * whose variants hold quick code until then. What it gives goes to the disk cache, so quick code is
 * never kept. The kernel cache's lock guards everything here. */
#ifndef FUSEC_RUNTIME_KERNEL_TIERS_H
#define FUSEC_RUNTIME_KERNEL_TIERS_H

#include "runtime/kernel_make.h"

typedef enum fc_tier_order {
    FC_ONE_TIER,    /* quick code is not allowed or does not pay */
    FC_QUICK_TIER,  /* quick code only (FC_TIERS_QUICK) */
    FC_TIERS_AFTER, /* the full code is begun when the quick one is there: processors are few */
    FC_TIERS_BESIDE /* both are compiled side by side */
} fc_tier_order;
/* What to do for these kernels, which are `njobs` texts. */
fc_tier_order fc_tiers_for(const fc_making *x, size_t njobs);

/* Starts the full compilation of `text`, the kernels of job `job`, and marks their variants as
 * quick. False: there is no thread or no memory for it, nothing was done. */
bool fc_tier_start(fc_making *x, size_t job, const char *text);

bool fc_tier_done(const fc_tier *t);
/* Full variants for what is quick, in the order of the tier; waits for them. `put` takes each with
 * the one it replaces; with NULL there is no better code, and the quick one stays for good. The
 * tier is gone afterwards. */
typedef void fc_tier_put(void *user, fc_variant *quick, fc_variant *full);
void fc_tier_finish(fc_tier *t, fc_tier_put *put, void *user);
/* The kernel of variant `from` is now that of `to`. */
void fc_tier_hand(fc_tier *t, fc_variant *from, fc_variant *to);
/* Its variant goes: nothing is put in its place. The last one waits. NULL is fine. */
void fc_tier_forget(fc_tier *t, const fc_variant *quick);

#endif
