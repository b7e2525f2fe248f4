# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs into a fresh folder, then builds and runs the consumer with find_package and with pkg-config.
#
#   cmake -D BUILD=... -D SOURCE=... -D CC=... -P check.cmake
set(work ${BUILD}/install-test)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\nfailed (${status}):\n${text}")
  endif()
  string(STRIP "${text}" text)
  set(output "${text}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install -B ${work}/build -D CMAKE_C_COMPILER=${CC}
    -D CMAKE_PREFIX_PATH=${work}/prefix)
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/consumer)

find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  file(GLOB_RECURSE pc ${work}/prefix/fusec.pc)
  get_filename_component(pc_dir ${pc} DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} ${pc_dir})
  run(${PKG_CONFIG} --cflags --libs fusec)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${PKG_CONFIG} --variable=libdir fusec)
  run(${CC} ${SOURCE}/tests/install/main.c ${flags} -Wl,-rpath,${output} -o ${work}/with-pc)
  run(${work}/with-pc)
  # the archive, with what it needs; lib*.so would be taken first
  run(${PKG_CONFIG} --static --libs fusec)
  separate_arguments(flags UNIX_COMMAND "${output}")
  list(REMOVE_ITEM flags -lfusec)
  file(GLOB_RECURSE archive ${work}/prefix/libfusec.a)
  run(${PKG_CONFIG} --cflags fusec)
  separate_arguments(cflags UNIX_COMMAND "${output}")
  run(${CC} ${SOURCE}/tests/install/main.c ${cflags} ${archive} ${flags} -o ${work}/static)
  run(${work}/static)
endif()

find_program(READELF readelf)
if(READELF)
  file(GLOB_RECURSE libraries ${work}/prefix/libfusec.so ${work}/prefix/libfusec.a)
  foreach(library ${libraries})
    run(${READELF} -S ${library})
    if(output MATCHES "debug_info")
      message(FATAL_ERROR "${library} carries debug information")
    endif()
  endforeach()
endif()
