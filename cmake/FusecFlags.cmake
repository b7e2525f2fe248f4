# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# FusecFlags - the language level, warnings and sanitizers of every target.
#
# -ffp-contract=off is part of the product's meaning: a*b+c rounds twice wherever it runs, so that
# results agree between backends. Nothing may add -ffast-math.

function(fusec_link_flags target)
  if(FUSEC_SANITIZE)
    target_link_options(${target} PRIVATE -fsanitize=${FUSEC_SANITIZERS})
  elseif(NOT APPLE)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "SHARED_LIBRARY")
      target_link_options(${target} PRIVATE -Wl,--no-undefined)
    endif()
  endif()
endfunction()

function(fusec_flags target)
  set_target_properties(${target} PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
    CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  # Empty, so that a file which defines it for itself is no redefinition. C++ has it anyway.
  target_compile_definitions(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE=>)
  target_compile_options(${target} PRIVATE
    -ffp-contract=off -fno-math-errno -Wall -Wextra -Wpedantic -Wshadow
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
  if(FUSEC_PLANT)
    target_compile_definitions(${target} PRIVATE FUSEC_PLANT)
  endif()
  if(FUSEC_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(FUSEC_FUZZERS)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    if(FUSEC_FUZZERS STREQUAL "edges") # without a call at each comparison
      target_compile_options(${target} PRIVATE
        -fno-sanitize-coverage=trace-cmp,trace-div,trace-gep,indirect-calls)
    endif()
  endif()
  if(FUSEC_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${FUSEC_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/sanitizers.c)
    endif()
  endif()
  fusec_link_flags(${target})
endfunction()
