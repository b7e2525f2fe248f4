# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# FusecGenerated - fails when a committed file is not what fusec_gen makes now.
#
#   cmake -D GEN=... -D KIND=... -D FILE=... -D OUT=... -P FusecGenerated.cmake
execute_process(COMMAND ${GEN} ${KIND} ${OUT} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${GEN} ${KIND} failed (${status})")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${OUT} ${FILE} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${FILE} is stale: build the target \"regenerate\"")
endif()
