# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of all tests: kernels of this run only."""

import os

os.environ.setdefault("FUSEC_CACHE_DIR", "")
