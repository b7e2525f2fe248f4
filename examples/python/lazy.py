# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that are computed when somebody looks: Newton's square root, in flat memory."""

import numpy as np

import fusec as fx

a = fx.asarray(np.linspace(1, 2, 100_000))
x = fx.ones(a.shape)
for _ in range(20):
    x = (x + a / x) * 0.5
print(x)
assert abs(np.asarray(x) ** 2 - np.asarray(a)).max() < 1e-12
