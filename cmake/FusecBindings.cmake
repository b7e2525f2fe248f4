# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# FusecBindings - packages of other languages, each where its tools are found: targets fusec_octave,
# fusec_perl, fusec_fortran, which the build makes, and their tests. All of them begin from
# build/fusec.json (docs/bindings.md).
option(FUSEC_BUILD_BINDINGS "Build the packages for Octave, Perl and Fortran where their tools are found" ON)
if(NOT FUSEC_BUILD_BINDINGS)
  return()
endif()
set(bindings ${CMAKE_CURRENT_SOURCE_DIR}/frontend)
set(link_here -I${CMAKE_CURRENT_SOURCE_DIR}/include -L$<TARGET_FILE_DIR:fusec>)

function(fusec_binding_test name)
  if(FUSEC_BUILD_TESTS)
    add_test(NAME ${name} COMMAND ${ARGN})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300)
  endif()
endfunction()

# ---- Octave ---------------------------------------------------------------------------------------------

find_program(FUSEC_MKOCTFILE mkoctfile)
find_program(FUSEC_OCTAVE octave-cli)
if(FUSEC_MKOCTFILE AND FUSEC_OCTAVE)
  set(octave ${CMAKE_BINARY_DIR}/octave)
  file(MAKE_DIRECTORY ${octave})
  add_custom_command(OUTPUT ${octave}/__fusec__.oct VERBATIM WORKING_DIRECTORY ${octave}
    COMMAND ${FUSEC_MKOCTFILE} -o ${octave}/__fusec__.oct ${bindings}/octave/fusec_octave.cc
            ${link_here} -lfusec -Wl,-rpath,$<TARGET_FILE_DIR:fusec>
    DEPENDS fusec ${bindings}/octave/fusec_octave.cc include/fusec/fusec.h)
  add_custom_command(OUTPUT ${octave}/fusec.m VERBATIM
    COMMAND ${FUSEC_OCTAVE} --norc -q ${bindings}/octave/make_class.m ${CMAKE_BINARY_DIR}/fusec.json
            ${bindings}/octave/class.m.in ${octave}/fusec.m
    DEPENDS ${CMAKE_BINARY_DIR}/fusec.json ${bindings}/octave/make_class.m
            ${bindings}/octave/class.m.in)
  add_custom_target(fusec_octave ALL DEPENDS ${octave}/__fusec__.oct ${octave}/fusec.m)
  add_dependencies(fusec_octave fusec_json)
  fusec_binding_test(octave.tests ${FUSEC_OCTAVE} --norc -q ${bindings}/octave/tests.m ${octave}
    ${CMAKE_CURRENT_SOURCE_DIR})
  fusec_binding_test(octave.example ${FUSEC_OCTAVE} --norc -q --path ${octave}
    ${CMAKE_CURRENT_SOURCE_DIR}/examples/octave/hillshade.m)
endif()
