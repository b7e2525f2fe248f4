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
set(longest cuda_samples=45 random_graphs=40 llvm_widths=30 aot=30 cli_typed=28 sweep_reduce_cpu=24 sweep_cpu=22
  aot_cuda=20 pieces=16 sweep_reduce_interp=14 fake_cuda_every_call=14 repeat=13 trees=13 cuda_rows=12 state=12
  llvm_ops=12 llvm_known=12 wide=10 cuda_index=10 contract=10 llvm_emit=10 sort=9 limits=9 llvm_math=9 faults=8
  fft=7 cuda_emit=7 cli_split=6 scan=6 function_widths=6 fake_cuda=6 npy=6 fold=6 complex_random=6)
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
