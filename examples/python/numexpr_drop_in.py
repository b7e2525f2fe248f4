# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that use numexpr use fusec after one line."""

import fusec.numexpr

fusec.numexpr.install()

import numexpr  # noqa: E402
import numpy as np  # noqa: E402

a, b = np.arange(5.0), np.ones(5)
print(numexpr.evaluate("2*a + sin(b)"))
assert numexpr is fusec.numexpr
