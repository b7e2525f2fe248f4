/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* plant.h - a switch for deliberate bugs: how good the tests are is measured by what they find.
 *
 * In a product build FC_PLANT(name, wrong, right) is `right` and FC_PLANTED(name) is false, and
 * nothing of this is left. A build with FUSEC_PLANT reads the environment variable FUSEC_PLANTED
 * once: the name of one bug of plant.def, which is then in force. */
#ifndef FUSEC_IR_PLANT_H
#define FUSEC_IR_PLANT_H

#include <stdbool.h>

#ifdef FUSEC_PLANT

enum fc_plant {
#define BUG(name, text) FC_PLANT_##name,
#include "ir/plant.def"
    FC_PLANT_COUNT
};

bool fc_planted(enum fc_plant bug);
extern const char *const fc_plant_names[FC_PLANT_COUNT];

#define FC_PLANTED(name) fc_planted(FC_PLANT_##name)

#else

#define FC_PLANTED(name) false

#endif

#define FC_PLANT(name, wrong, right) (FC_PLANTED(name) ? (wrong) : (right))

#endif
