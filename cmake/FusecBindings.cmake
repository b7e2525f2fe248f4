# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# FusecBindings - packages of other languages, each where its tools are found: targets fusec_octave,
# fusec_perl, fusec_fortran, which a build with tests makes, and their tests. All of them begin from
# build/fusec.json (docs/bindings.md).
option(FUSEC_BUILD_BINDINGS "Build the packages for Octave, Perl and Fortran where their tools are found" ON)
if(NOT FUSEC_BUILD_BINDINGS OR SKBUILD)
  return()
endif()
set(bindings_all) # packages are built by name alone where nothing is tested
if(FUSEC_BUILD_TESTS)
  set(bindings_all ALL)
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
  add_custom_target(fusec_octave ${bindings_all} DEPENDS ${octave}/__fusec__.oct ${octave}/fusec.m)
  add_dependencies(fusec_octave fusec_json)
  fusec_binding_test(octave.tests ${FUSEC_OCTAVE} --norc -q ${bindings}/octave/tests.m ${octave}
    ${CMAKE_CURRENT_SOURCE_DIR})
  fusec_binding_test(octave.example ${FUSEC_OCTAVE} --norc -q --path ${octave}
    ${CMAKE_CURRENT_SOURCE_DIR}/examples/octave/hillshade.m)
endif()

# ---- Perl -----------------------------------------------------------------------------------------------

find_program(FUSEC_PERL perl)
find_program(FUSEC_XSUBPP xsubpp)
find_program(FUSEC_PROVE prove)
set(perl_core NOTFOUND)
if(FUSEC_PERL AND FUSEC_XSUBPP AND FUSEC_PROVE)
  execute_process(COMMAND ${FUSEC_PERL} -MJSON::PP -MConfig -e
    [[print join ";", "$Config{archlibexp}/CORE", "$Config{privlibexp}/ExtUtils/typemap", $Config{ccflags}]]
    OUTPUT_VARIABLE config ERROR_QUIET RESULT_VARIABLE no_perl)
  list(APPEND config "" "" "")
  list(GET config 0 perl_core)
  list(GET config 1 typemap)
  list(GET config 2 perl_cflags)
endif()
if(EXISTS "${perl_core}/perl.h" AND EXISTS "${typemap}")
  set(perl ${CMAKE_BINARY_DIR}/perl)
  set(lib ${perl}/lib)
  file(MAKE_DIRECTORY ${lib}/auto/Fusec ${lib}/Fusec)
  separate_arguments(perl_cflags UNIX_COMMAND "${perl_cflags}")
  add_custom_command(OUTPUT ${lib}/auto/Fusec/Fusec.so VERBATIM WORKING_DIRECTORY ${perl}
    COMMAND ${FUSEC_XSUBPP} -typemap ${typemap} -output ${perl}/Fusec.c ${bindings}/perl/Fusec.xs
    COMMAND ${CMAKE_C_COMPILER} ${perl_cflags} -O2 -fPIC -shared -isystem ${perl_core}
            -DVERSION="0.1.0" -DXS_VERSION="0.1.0" ${perl}/Fusec.c -o ${lib}/auto/Fusec/Fusec.so
            ${link_here} -lfusec -Wl,-rpath,$<TARGET_FILE_DIR:fusec>
    DEPENDS fusec ${bindings}/perl/Fusec.xs include/fusec/fusec.h)
  add_custom_command(OUTPUT ${lib}/Fusec.pm VERBATIM
    COMMAND ${CMAKE_COMMAND} -E copy ${bindings}/perl/lib/Fusec.pm ${lib}/Fusec.pm
    DEPENDS ${bindings}/perl/lib/Fusec.pm)
  add_custom_command(OUTPUT ${lib}/Fusec/Operations.pm VERBATIM
    COMMAND ${FUSEC_PERL} ${bindings}/perl/make_operations.pl ${CMAKE_BINARY_DIR}/fusec.json
            ${lib}/Fusec/Operations.pm
    DEPENDS ${CMAKE_BINARY_DIR}/fusec.json ${bindings}/perl/make_operations.pl)
  add_custom_target(fusec_perl ${bindings_all}
    DEPENDS ${lib}/auto/Fusec/Fusec.so ${lib}/Fusec.pm ${lib}/Fusec/Operations.pm)
  add_dependencies(fusec_perl fusec_json)
  fusec_binding_test(perl.tests ${CMAKE_COMMAND} -E env FUSEC_SOURCE=${CMAKE_CURRENT_SOURCE_DIR}
    ${FUSEC_PROVE} -I ${lib} ${bindings}/perl/t)
endif()
if(TARGET fusec_perl)
  fusec_binding_test(perl.example ${FUSEC_PERL} -I${lib}
    ${CMAKE_CURRENT_SOURCE_DIR}/examples/perl/hillshade.pl)
endif()

# ---- Fortran: a module of every function -----------------------------------------------------------------

find_program(FUSEC_FORTRAN NAMES gfortran flang)
if(FUSEC_FORTRAN AND FUSEC_PERL)
  set(fortran ${CMAKE_BINARY_DIR}/fortran)
  file(MAKE_DIRECTORY ${fortran})
  add_custom_command(OUTPUT ${fortran}/fusec.f90 VERBATIM
    COMMAND ${FUSEC_PERL} ${bindings}/fortran/make_module.pl ${CMAKE_BINARY_DIR}/fusec.json
            ${fortran}/fusec.f90
    DEPENDS ${CMAKE_BINARY_DIR}/fusec.json ${bindings}/fortran/make_module.pl)
  add_custom_command(OUTPUT ${fortran}/smooth VERBATIM WORKING_DIRECTORY ${fortran}
    COMMAND ${FUSEC_FORTRAN} fusec.f90 ${CMAKE_CURRENT_SOURCE_DIR}/examples/fortran/smooth.f90
            -o smooth ${link_here} -lfusec -Wl,-rpath,$<TARGET_FILE_DIR:fusec>
    DEPENDS fusec ${fortran}/fusec.f90 examples/fortran/smooth.f90)
  add_custom_target(fusec_fortran ${bindings_all} DEPENDS ${fortran}/smooth)
  add_dependencies(fusec_fortran fusec_json)
  fusec_binding_test(fortran.example ${fortran}/smooth)
endif()
