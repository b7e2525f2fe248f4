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
set(text "")
foreach(suite ${suites})
  string(REGEX REPLACE "[\n.]" "" suite "${suite}")
  string(APPEND text
    "add_test([==[${suite}]==] [==[${EXE}]==] [==[--gtest_brief=1]==] [==[--gtest_filter=${suite}.*]==])\n"
    "set_tests_properties([==[${suite}]==] PROPERTIES TIMEOUT 900 WORKING_DIRECTORY [==[${WORKDIR}]==])\n")
endforeach()
file(WRITE ${OUT} "${text}")
