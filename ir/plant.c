/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plant.c - which bug is planted; empty in a product build. */
#include "ir/plant.h"

#ifdef FUSEC_PLANT

#include <stdlib.h>
#include <string.h>

const char *const fc_plant_names[FC_PLANT_COUNT] = {
#define BUG(name, text) #name,
#include "ir/plant.def"
};

bool fc_planted(enum fc_plant bug) {
    static int planted = -1; /* read by the first call, which is made before there are threads */
    if (planted < 0) {
        const char *name = getenv("FUSEC_PLANTED");
        int found = FC_PLANT_COUNT;
        for (int i = 0; name && i < FC_PLANT_COUNT; i++)
            if (!strcmp(name, fc_plant_names[i])) found = i;
        planted = found;
    }
    return planted == (int)bug;
}

#else

typedef int fc_plant_is_off; /* ISO C wants a declaration */

#endif
