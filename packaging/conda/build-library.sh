#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
set -e
cmake -S . -B build-conda -G Ninja ${CMAKE_ARGS} -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX" \
    -DCMAKE_INSTALL_LIBDIR=lib -DFUSEC_BUILD_TESTS=OFF -DFUSEC_BUILD_PYTHON=OFF -DFUSEC_WERROR=OFF
cmake --build build-conda
cmake --install build-conda
