# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# FusecPython - the Python package: the extension fusec._core, with the library inside, and the Python
# files beside it, in ${CMAKE_BINARY_DIR}/python/fusec. `pip install .` builds the same through
# scikit-build-core (pyproject.toml) and installs it.
#
# The extension uses the limited API of CPython 3.11, and of that what the library of 3.10 has, too: one
# build serves 3.10 and all later versions (a build with the headers of 3.10 itself: that one). NumPy's
# headers (2.0 or newer) make calls with its arrays quicker; without them the buffer protocol serves.

# The environment that scripts/bootstrap made has NumPy's headers and what the tests import.
if(NOT Python3_EXECUTABLE AND NOT SKBUILD)
  foreach(python ${CMAKE_CURRENT_SOURCE_DIR}/build/venv/bin/python ${CMAKE_BINARY_DIR}/venv/bin/python)
    if(EXISTS ${python})
      set(Python3_EXECUTABLE ${python})
      break()
    endif()
  endforeach()
endif()
if(SKBUILD)
  find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
else()
  find_package(Python3 3.10 QUIET COMPONENTS Interpreter Development.Module)
endif()
if(NOT Python3_Development.Module_FOUND)
  message(STATUS "Python's headers (3.10 or newer) are missing: no Python package")
  return()
endif()

execute_process(COMMAND ${Python3_EXECUTABLE} -c
  "import numpy; assert int(numpy.__version__.split('.')[0]) >= 2; print(numpy.get_include(), end='')"
  RESULT_VARIABLE status OUTPUT_VARIABLE FUSEC_NUMPY_INCLUDE ERROR_QUIET)

set(python_out ${CMAKE_BINARY_DIR}/python)
set(python_made ${CMAKE_BINARY_DIR}/python-made)
file(MAKE_DIRECTORY ${python_made} ${python_out}/fusec)
foreach(made python:fx_rows.h stubs:_ops.pyi)
  string(REGEX MATCH "^[^:]*" kind ${made})
  string(REGEX REPLACE "^[^:]*:" "" file ${made})
  add_custom_command(OUTPUT ${python_made}/${file} VERBATIM
    COMMAND fusec_gen ${kind} ${python_made}/${file} DEPENDS fusec_gen)
endforeach()

file(GLOB python_sources CONFIGURE_DEPENDS frontend/python/src/*.c)
Python3_add_library(fusec_python MODULE ${python_sources} ${python_made}/fx_rows.h)
fusec_flags(fusec_python)
target_compile_options(fusec_python PRIVATE -Wno-pedantic) # slots are void pointers to functions
# A free-threaded build has no stable ABI, and does not look for its name.
execute_process(COMMAND ${Python3_EXECUTABLE} -c
  "import sysconfig; v = sysconfig.get_config_var; print(v('EXT_SUFFIX') if v('Py_GIL_DISABLED') else '.abi3.so', end='')"
  OUTPUT_VARIABLE python_suffix)
set_target_properties(fusec_python PROPERTIES OUTPUT_NAME _core PREFIX "" SUFFIX ${python_suffix}
  C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${python_out}/fusec)
target_include_directories(fusec_python PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${python_made})
target_link_libraries(fusec_python PRIVATE fusec_static)
# Nothing of the library is seen from outside: a program may use libfusec.so beside it.
set(python_exports ${CMAKE_CURRENT_SOURCE_DIR}/packaging/exports.map)
target_link_options(fusec_python PRIVATE -Wl,--version-script=${python_exports})
set_target_properties(fusec_python PROPERTIES LINK_DEPENDS ${python_exports})
if(status EQUAL 0)
  target_compile_definitions(fusec_python PRIVATE FX_NUMPY)
  target_include_directories(fusec_python SYSTEM PRIVATE ${FUSEC_NUMPY_INCLUDE})
endif()

# The Python files: links, so that a change needs no build.
file(GLOB python_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/frontend/python/fusec
  frontend/python/fusec/*.py frontend/python/fusec/*.pyi frontend/python/fusec/py.typed)
foreach(file ${python_files})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/frontend/python/fusec/${file}
    ${python_out}/fusec/${file} SYMBOLIC)
endforeach()
file(CREATE_LINK ${python_made}/_ops.pyi ${python_out}/fusec/_ops.pyi SYMBOLIC)
file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/frontend/python/fusec/py.typed ${python_out}/fusec/py.typed SYMBOLIC)
add_custom_target(fusec_python_stubs ALL DEPENDS ${python_made}/_ops.pyi)

if(SKBUILD)
  install(TARGETS fusec_python LIBRARY DESTINATION fusec)
  install(DIRECTORY frontend/python/fusec/ DESTINATION fusec
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed")
  install(FILES ${python_made}/_ops.pyi DESTINATION fusec)
endif()

# The tests of the package, one for ctest for each file; scripts/bootstrap installs what they import.
if(FUSEC_BUILD_TESTS AND NOT SKBUILD)
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import pytest, numpy; assert numpy.__version__ >= '2'"
    RESULT_VARIABLE status ERROR_QUIET)
  if(status EQUAL 0)
    file(GLOB python_tests CONFIGURE_DEPENDS frontend/python/tests/test_*.py)
    foreach(test ${python_tests})
      get_filename_component(name ${test} NAME_WE)
      string(REPLACE "test_" "python." name ${name})
      add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -m pytest -q --no-header -p no:cacheprovider
        ${test} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
      set(env PYTHONPATH=${python_out} PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 FUSEC_SOURCE=${CMAKE_CURRENT_SOURCE_DIR})
      if(name STREQUAL "python.device") # on a GPU that is made up (FusecTests.cmake)
        set(fake ${CMAKE_BINARY_DIR}/bin/fake/libfake_cuda_whole.so)
        list(APPEND env FUSEC_LIBCUDA_PATH=${fake} FUSEC_NVRTC_PATH=${fake} FAKE_CUDA_EXECUTE=1)
      endif()
      if(NOT name MATCHES "jit|process|device") # most programs run once: by the code of first calls alone
        list(APPEND env FUSEC_TIERS=quick)
      endif()
      if(name STREQUAL "python.habits") # what is asked is what the functions mean
        list(APPEND env FUSEC_DEVICE=interp)
      endif()
      set_tests_properties(${name} PROPERTIES TIMEOUT 300 COST 50 SKIP_RETURN_CODE 5 ENVIRONMENT "${env}")
    endforeach()
  else()
    message(STATUS "pytest or NumPy 2 is missing for ${Python3_EXECUTABLE}: no Python tests")
  endif()
endif()
