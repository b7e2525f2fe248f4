# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# FusecAot - the run time of the objects that `fusec build` makes: a part of the library, compiled to be small, as an
# archive that the command has inside. What a definition does not need is left out when its object is linked.

set(FUSEC_AOT_SOURCES runtime/aot/aot.c runtime/aot/bound.c runtime/aot/cuda.c runtime/aot/object/rows.c runtime/cpu_bits.c codegen/nest.c codegen/linear.c codegen/blocks.c codegen/class.c
  codegen/dot.c codegen/llvm/llvm_facts.c codegen/cuda/cuda_facts.c ir/base.c ir/code.c ir/constant.c ir/dim.c ir/dtype.c
  ir/expand_reduce.c ir/eval.c ir/eval_cvt.c ir/eval_float.c ir/eval_int.c ir/far.c ir/float_state.c ir/kernel.c ir/ops.c ir/plant.c)
file(GLOB aot_schedule CONFIGURE_DEPENDS codegen/llvm/schedule/*.c codegen/cuda/schedule/*.c)
list(APPEND FUSEC_AOT_SOURCES ${aot_schedule})
set(aot_existing)
foreach(file ${FUSEC_AOT_SOURCES})
  if(IS_ABSOLUTE ${file} OR EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    list(APPEND aot_existing ${file})
  endif()
endforeach()

add_library(fusec_aot STATIC ${aot_existing})
set_target_properties(fusec_aot PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden
  POSITION_INDEPENDENT_CODE ON ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
target_compile_definitions(fusec_aot PRIVATE FUSEC_AOT_OBJECT "_GNU_SOURCE=")
target_compile_options(fusec_aot PRIVATE -Os -g0 -fno-lto -ffunction-sections -fdata-sections -ffp-contract=off
  -fno-math-errno -fno-asynchronous-unwind-tables -fno-stack-protector)
target_include_directories(fusec_aot PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include)

# The archive is read by the assembler (frontend/cli/aot_runtime.c).
set(FUSEC_AOT_ARCHIVE ${CMAKE_BINARY_DIR}/lib/libfusec_aot.a)
set_source_files_properties(frontend/cli/aot_runtime.c PROPERTIES
  OBJECT_DEPENDS ${FUSEC_AOT_ARCHIVE} COMPILE_DEFINITIONS "FUSEC_AOT_ARCHIVE=\"${FUSEC_AOT_ARCHIVE}\"")
# What runs at every call is compiled to be fast.
set_source_files_properties(runtime/aot/aot.c runtime/aot/bound.c runtime/aot/cuda.c PROPERTIES TARGET_DIRECTORY fusec_aot COMPILE_OPTIONS -O2)
