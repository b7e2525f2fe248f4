/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// capi_cxx.cc - the public headers as C++ sees them: included, called, linked.
#include <fusec/fusec.h>

#include "tests/support/capi.h"

extern "C" int capi_from_cxx(fusec_graph *g) {
    const float in[3] = {1, 4, 9};
    const int64_t shape[1] = {3};
    float out[3] = {0, 0, 0};
    fusec_options options = FUSEC_OPTIONS_INIT;
    if (options.size != sizeof options) return 1;
    fusec_value x = fusec_array(g, FUSEC_F32, 1, shape, in);
    fusec_value y = fusec_sqrt(x);
    if (fusec_read(y, out, sizeof out) != FUSEC_OK) return 2;
    return out[0] == 1 && out[1] == 2 && out[2] == 3 ? 0 : 3;
}
