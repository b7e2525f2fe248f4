#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -e
"$PYTHON" -m pip install . --no-deps --no-build-isolation
