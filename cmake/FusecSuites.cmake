# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# FusecSuites - asks the test program for its suites and writes one add_test line for each.
#
#   cmake -D EXE=... -D OUT=... -D WORKDIR=... -P FusecSuites.cmake
set(ENV{ASAN_OPTIONS} "detect_leaks=0:$ENV{ASAN_OPTIONS}")
execute_process(COMMAND ${EXE} --gtest_list_tests WORKING_DIRECTORY ${WORKDIR}
  OUTPUT_VARIABLE listing RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${EXE} --gtest_list_tests failed (${status})")
endif()
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\." suites "\n${listing}")
# Seconds that the longest take: ctest starts them first, so that no core is left with one at the end.
set(longest random_graphs=90 cuda_samples=60 sweep_cpu=45 sweep_reduce_cpu=40 llvm_widths=35
  llvm_math=35 fused_as_unfused=25 trees=22 fake_cuda_every_call=12 llvm_emit=18 llvm_ops=17 cuda_rows=16
  llvm_reductions=14 wide=14 aot=12 sweep_reduce_interp=13 repeat=13 sweep_constants_cpu=12 state=11 helper=10
  rules_each=9 fake_cuda_every_call_of_a_gang=8 cli_typed=8 limits=6 cli=5 function_widths=5
  cuda_emit=5)
set(text "")
foreach(suite ${suites})
  string(REGEX REPLACE "[\n.]" "" suite "${suite}")
  set(cost 0)
  if(";${longest};" MATCHES ";${suite}=([0-9]+);")
    set(cost ${CMAKE_MATCH_1})
  endif()
  string(APPEND text
    "add_test([==[${suite}]==] [==[${EXE}]==] [==[--gtest_brief=1]==] [==[--gtest_filter=${suite}.*]==])\n"
    "set_tests_properties([==[${suite}]==] PROPERTIES TIMEOUT 900 COST ${cost} WORKING_DIRECTORY [==[${WORKDIR}]==])\n")
endforeach()
file(WRITE ${OUT} "${text}")
