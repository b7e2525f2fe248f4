# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# FusecTests - the test program, the header checks and the examples.

# ---- every public header stands alone, in C99 and in C++11 ------------------------------------------

foreach(header ${FUSEC_PUBLIC_HEADERS})
  get_filename_component(name ${header} NAME_WE)
  set(text "#include <fusec/${name}.h>\ntypedef int fusec_header_${name};\n")
  foreach(ext c cc)
    set(file ${CMAKE_BINARY_DIR}/headers/${name}.${ext})
    file(GENERATE OUTPUT ${file} CONTENT "${text}")
    list(APPEND headers_${ext} ${file})
  endforeach()
endforeach()
if(FUSEC_PUBLIC_HEADERS)
  add_library(fusec_headers_c99 OBJECT ${headers_c})
  add_library(fusec_headers_cxx11 OBJECT ${headers_cc})
  set_target_properties(fusec_headers_c99 PROPERTIES
    C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  set_target_properties(fusec_headers_cxx11 PROPERTIES
    CXX_STANDARD 11 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  foreach(target fusec_headers_c99 fusec_headers_cxx11)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Werror)
    target_include_directories(${target} PRIVATE include)
  endforeach()
endif()

# ---- what several programs judge results with -----------------------------------------------------------

find_package(PkgConfig)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(MPFR IMPORTED_TARGET mpfr)
endif()
file(GLOB judge_sources CONFIGURE_DEPENDS tests/support/oracle*.c tests/support/random_graph*.c
  tests/support/fuzz*.c tests/support/row_*.c tests/support/graph_hash.c tests/support/llvm_run.c tests/support/ulp.c)
add_library(test_judges STATIC ${judge_sources})
fusec_flags(test_judges)
target_include_directories(test_judges PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(test_judges PUBLIC fusec_static)
if(MPFR_FOUND)
  target_link_libraries(test_judges PUBLIC PkgConfig::MPFR)
  target_compile_definitions(test_judges PUBLIC FUSEC_TEST_MPFR=1)
endif()

# ---- the test program ---------------------------------------------------------------------------------

file(GLOB test_sources CONFIGURE_DEPENDS tests/*.c tests/support/*.c tests/support/*.cc
  tests/fuzz/target_*.c tests/fuzz/mutate_*.c)
list(REMOVE_ITEM test_sources ${judge_sources})
find_package(GTest REQUIRED)

add_executable(fusec_tests ${test_sources})
fusec_flags(fusec_tests)
set_target_properties(fusec_tests PROPERTIES LINKER_LANGUAGE CXX)
target_include_directories(fusec_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${FUSEC_GENERATED})
target_link_libraries(fusec_tests PRIVATE
  $<TARGET_NAME_IF_EXISTS:fusec_cli_objects> test_judges GTest::gtest Threads::Threads)
target_compile_definitions(fusec_tests PRIVATE
  FUSEC_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}" FUSEC_BINARY_DIR="${CMAKE_BINARY_DIR}"
  FUSEC_COMMAND="${CMAKE_BINARY_DIR}/bin/fusec")
add_dependencies(fusec_tests fusec fusec_json) # test_abi.c and test_description.c read them
# For the tests that build the programs of the documentation.
if(FUSEC_SANITIZE)
  set(test_cflags -fsanitize=${FUSEC_SANITIZERS})
endif()
target_compile_definitions(fusec_tests PRIVATE FUSEC_TEST_CC="${CMAKE_C_COMPILER}"
  FUSEC_TEST_CFLAGS="${test_cflags}")
if(TARGET fusec_cli)
  add_dependencies(fusec_tests fusec_cli)
endif()

# A CUDA driver and NVRTC that tests load in place of the real ones: whole, an older one without
# memory pools, and two that lack a function. An LLVM, too.
file(GLOB fake_sources CONFIGURE_DEPENDS tests/fake/*.c)
list(FILTER fake_sources EXCLUDE REGEX "/fake_llvm\\.c$")
list(APPEND fake_sources tests/support/cuda_fibers.c)
foreach(fake whole: old:FAKE_NO_POOLS no_launch:FAKE_NO_LAUNCH no_compile:FAKE_NO_COMPILE)
  string(REGEX MATCH "^[^:]*" name ${fake})
  string(REGEX REPLACE "^[^:]*:" "" define ${fake})
  add_library(fake_cuda_${name} MODULE ${fake_sources})
  fusec_flags(fake_cuda_${name})
  set_target_properties(fake_cuda_${name} PROPERTIES C_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/fake)
  target_include_directories(fake_cuda_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(fake_cuda_${name} PRIVATE FUSEC_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}"
    ${define})
  target_link_libraries(fake_cuda_${name} PRIVATE ${CMAKE_DL_LIBS} Threads::Threads m)
  add_dependencies(fusec_tests fake_cuda_${name})
endforeach()
add_library(fake_llvm MODULE tests/fake/fake_llvm.c tests/fake/misbehave.c)
fusec_flags(fake_llvm)
set_target_properties(fake_llvm PROPERTIES C_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/fake)
target_include_directories(fake_llvm PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
add_dependencies(fusec_tests fake_llvm)

# ---- how far functions are off, and how long they take: scripts/accuracy ------------------------------

file(GLOB accuracy_sources CONFIGURE_DEPENDS tests/accuracy/*.c)
add_executable(fusec_accuracy ${accuracy_sources})
fusec_flags(fusec_accuracy)
target_include_directories(fusec_accuracy PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(fusec_accuracy PRIVATE test_judges Threads::Threads m)

# Random graphs for as long as wanted.
add_executable(fusec_fuzz tests/fuzz/fuzz_main.c)
fusec_flags(fusec_fuzz)
target_include_directories(fusec_fuzz PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(fusec_fuzz PRIVATE test_judges Threads::Threads)

# Many threads on one context, and many graphs: scripts/campaign tsan and soak, and a little as a test.
add_executable(fusec_stress tests/stress/stress.c)
fusec_flags(fusec_stress)
target_link_libraries(fusec_stress PRIVATE fusec_static Threads::Threads m)
set(fake_cuda ${CMAKE_BINARY_DIR}/bin/fake/libfake_cuda_whole.so)
add_test(NAME stress.threads COMMAND fusec_stress threads interp 6)
add_test(NAME stress.threads_cpu COMMAND fusec_stress threads cpu 6)
add_test(NAME stress.soak COMMAND fusec_stress soak interp 16000)
add_test(NAME stress.soak_cuda COMMAND fusec_stress soak cuda-dry 24000)
set_tests_properties(stress.threads stress.threads_cpu stress.soak stress.soak_cuda PROPERTIES TIMEOUT 300 COST 5)
set_tests_properties(stress.soak_cuda PROPERTIES ENVIRONMENT
  "FUSEC_LIBCUDA_PATH=${fake_cuda};FUSEC_NVRTC_PATH=${fake_cuda}")

# The fuzz targets for libFuzzer; all sources are compiled with its coverage (FusecFlags).
if(FUSEC_FUZZERS)
  file(GLOB target_sources CONFIGURE_DEPENDS tests/fuzz/target_*.c tests/fuzz/mutate_*.c)
  foreach(name language capi npy npz png cache object arguments)
    add_executable(libfuzzer_${name} tests/fuzz/libfuzzer.c ${target_sources})
    fusec_flags(libfuzzer_${name})
    target_compile_definitions(libfuzzer_${name} PRIVATE FUZZ_TARGET=fuzz_${name})
    target_include_directories(libfuzzer_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(libfuzzer_${name} PRIVATE
      $<TARGET_NAME_IF_EXISTS:fusec_cli_objects> fusec_static Threads::Threads)
    target_link_options(libfuzzer_${name} PRIVATE -fsanitize=fuzzer)
  endforeach()
  target_compile_definitions(libfuzzer_language PRIVATE FUZZ_WORDS)
endif()

add_test(NAME accuracy COMMAND fusec_accuracy --devices interp --samples 2000 --step 999983)
set_tests_properties(accuracy PROPERTIES TIMEOUT 300)

# A Python that has NumPy, for the tests that compare with it.
foreach(python python3 /usr/bin/python3)
  execute_process(COMMAND ${python} -c "import numpy; print(numpy.__path__[0], end='')"
    RESULT_VARIABLE status OUTPUT_VARIABLE numpy ERROR_QUIET)
  if(status EQUAL 0)
    target_compile_definitions(fusec_tests PRIVATE FUSEC_TEST_PYTHON="${python}"
      FUSEC_TEST_NUMPY="${numpy}")
    break()
  endif()
endforeach()

# Stores that others write, where what writes them is: scripts/bootstrap has it.
if(TARGET fusec_cli AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/build/venv/bin/python)
  add_test(NAME store_interop COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/build/venv/bin/python
    ${CMAKE_CURRENT_SOURCE_DIR}/tests/store_interop.py $<TARGET_FILE:fusec_cli>)
  set_tests_properties(store_interop PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()

# ctest sees one test per suite: a process per single test would load the compilers thousands of times.
set(suites ${CMAKE_BINARY_DIR}/fusec_suites.cmake)
add_custom_command(TARGET fusec_tests POST_BUILD VERBATIM
  COMMAND ${CMAKE_COMMAND} -D "EXE=$<TARGET_FILE:fusec_tests>" -D "OUT=${suites}"
          -D "WORKDIR=${CMAKE_CURRENT_SOURCE_DIR}"
          -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/FusecSuites.cmake)
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites})

# ---- examples: each is a program of its own on the shared library, and a test -------------------------

file(GLOB example_sources CONFIGURE_DEPENDS examples/*.c)
foreach(source ${example_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  fusec_flags(example_${name})
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name} C_STANDARD 99
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/examples)
  target_link_libraries(example_${name} PRIVATE fusec m)
  add_test(NAME example.${name} COMMAND example_${name}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set_tests_properties(example.${name} PROPERTIES TIMEOUT 300)
endforeach()

# Libraries of others among kernels: built, and run as tests, where the library is found. Each source has two forms, for
# the CPU and for CUDA, of which the second skips itself where there is no GPU.
find_library(FUSEC_BLAS NAMES openblas blas)
find_library(FUSEC_LAPACK NAMES openblas lapack)
find_library(FUSEC_FFTW NAMES fftw3f)
find_path(FUSEC_FFTW_INCLUDE fftw3.h)
set(cuda_hints HINTS ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES include lib64)
find_path(FUSEC_CUDA_INCLUDE cublas_v2.h ${cuda_hints})
foreach(library cublas cusolver cufft cudart)
  find_library(FUSEC_${library} NAMES ${library} ${cuda_hints})
endforeach()

function(fusec_vendor name source needs)
  if(FUSEC_FUZZERS OR needs MATCHES "NOTFOUND")
    return()
  endif()
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/examples/vendor/${source}.cc)
    add_executable(vendor_${name} examples/vendor/${source}.cc)
  else()
    add_executable(vendor_${name} examples/vendor/${source}.c)
  endif()
  fusec_flags(vendor_${name})
  set_target_properties(vendor_${name} PROPERTIES OUTPUT_NAME ${name} C_STANDARD 99
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/examples)
  target_link_libraries(vendor_${name} PRIVATE fusec m ${needs})
  add_test(NAME vendor.${name} COMMAND vendor_${name})
  set_tests_properties(vendor.${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
  if(ARGN)
    target_include_directories(vendor_${name} SYSTEM PRIVATE ${ARGN})
  endif()
endfunction()

fusec_vendor(blas_gelu blas_gelu "${FUSEC_BLAS}")
fusec_vendor(lapack_lstsq lapack_lstsq "${FUSEC_LAPACK}")
if(FUSEC_FFTW_INCLUDE)
  fusec_vendor(fftw_spectrum fft_spectrum "${FUSEC_FFTW}" ${FUSEC_FFTW_INCLUDE})
endif()
find_library(FUSEC_OPENCV_CORE NAMES opencv_core)
find_library(FUSEC_OPENCV_IMGPROC NAMES opencv_imgproc)
find_path(FUSEC_OPENCV_INCLUDE opencv2/imgproc.hpp PATH_SUFFIXES opencv4)
if(FUSEC_OPENCV_INCLUDE)
  fusec_vendor(opencv_picture opencv_picture "${FUSEC_OPENCV_IMGPROC};${FUSEC_OPENCV_CORE}"
    ${FUSEC_OPENCV_INCLUDE})
endif()
if(FUSEC_CUDA_INCLUDE)
  fusec_vendor(cublas_gelu blas_gelu "${FUSEC_cublas};${FUSEC_cudart}" ${FUSEC_CUDA_INCLUDE})
  fusec_vendor(cusolver_lstsq lapack_lstsq "${FUSEC_cusolver};${FUSEC_cublas};${FUSEC_cudart}"
    ${FUSEC_CUDA_INCLUDE})
  fusec_vendor(cufft_spectrum fft_spectrum "${FUSEC_cufft};${FUSEC_cudart}" ${FUSEC_CUDA_INCLUDE})
  foreach(name cublas_gelu cusolver_lstsq cufft_spectrum)
    if(TARGET vendor_${name})
      target_compile_definitions(vendor_${name} PRIVATE FUSEC_EXAMPLE_CUDA)
    endif()
  endforeach()
endif()

# Parts of an array on the ranks of MPI, where its headers and mpirun are. Open MPI's programs come in
# Debian without its headers, and mpicc then names a folder that isn't there, at which find_package ends
# the configuration.
find_program(FUSEC_MPICC mpicc)
mark_as_advanced(FUSEC_MPICC)
if(FUSEC_MPICC AND NOT FUSEC_SANITIZE AND NOT FUSEC_FUZZERS)
  file(WRITE ${CMAKE_BINARY_DIR}/generated/mpi_header.c "#include <mpi.h>\n")
  execute_process(COMMAND ${FUSEC_MPICC} -E ${CMAKE_BINARY_DIR}/generated/mpi_header.c
    RESULT_VARIABLE FUSEC_NO_MPI OUTPUT_QUIET ERROR_QUIET)
  if(FUSEC_NO_MPI EQUAL 0)
    find_package(MPI QUIET COMPONENTS C)
  endif()
endif()
if(MPI_C_FOUND)
  add_executable(mpi_mean examples/mpi/mean.c)
  fusec_flags(mpi_mean)
  set_target_properties(mpi_mean PROPERTIES OUTPUT_NAME mpi_mean C_STANDARD 99
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/examples)
  target_link_libraries(mpi_mean PRIVATE fusec MPI::MPI_C)
  foreach(ranks 1 3)
    add_test(NAME mpi.mean_${ranks} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
      $<TARGET_FILE:mpi_mean> 300007)
    # as root, with more ranks than processors, without looking for network cards
    set_tests_properties(mpi.mean_${ranks} PROPERTIES TIMEOUT 300 ENVIRONMENT
      "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_btl=self,vader;OMPI_MCA_plm=isolated")
  endforeach()
else()
  message(STATUS "MPI's headers are missing: examples/mpi is left out")
endif()

# ---- benchmarks: built with the tests so that they keep compiling; linked without shared objects of the
# ---- product, so that they can be carried to another machine ---------------------------------------------

file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.c)
file(GLOB bench_support CONFIGURE_DEPENDS bench/support/*.c)
add_library(bench_support STATIC ${bench_support})
fusec_flags(bench_support)
target_include_directories(bench_support PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(bench_support PUBLIC fusec_static)
foreach(source ${bench_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  fusec_flags(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/bench)
  target_link_libraries(${name} PRIVATE bench_support)
endforeach()

find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  add_test(NAME bench.table
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/bench/check $<TARGET_FILE:fusec_cli>)
endif()

# ---- files made from the table of operations are those that are committed ------------------------------

set_target_properties(fusec_gen PROPERTIES EXCLUDE_FROM_ALL OFF)
foreach(made operations:docs/operations.md header:include/fusec/ops.h)
  string(REGEX MATCH "^[^:]*" kind ${made})
  string(REGEX REPLACE "^[^:]*:" "" file ${made})
  add_test(NAME generated.${kind} COMMAND ${CMAKE_COMMAND} -D GEN=$<TARGET_FILE:fusec_gen>
    -D KIND=${kind} -D FILE=${CMAKE_CURRENT_SOURCE_DIR}/${file}
    -D OUT=${CMAKE_BINARY_DIR}/generated.${kind}
    -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/FusecGenerated.cmake)
endforeach()

# ---- the installed tree -------------------------------------------------------------------------------

if(NOT FUSEC_SANITIZE)
  add_test(NAME install COMMAND ${CMAKE_COMMAND} -D BUILD=${CMAKE_BINARY_DIR}
    -D SOURCE=${CMAKE_CURRENT_SOURCE_DIR} -D CC=${CMAKE_C_COMPILER}
    -P ${CMAKE_CURRENT_SOURCE_DIR}/tests/install/check.cmake)
  set_tests_properties(install PROPERTIES TIMEOUT 300)
endif()
