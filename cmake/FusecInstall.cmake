# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# FusecInstall - headers, libraries, fusecConfig.cmake (target fusec::fusec) and fusec.pc.
include(CMakePackageConfigHelpers)

install(TARGETS fusec fusec_static EXPORT fusecTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/fusec DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")

# What is installed carries no debug information; that of the build tree stays.
if(CMAKE_STRIP)
  install(CODE "
    foreach(file $<TARGET_FILE_NAME:fusec> $<TARGET_FILE_NAME:fusec_static>)
      execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug
        \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/\${file}\")
    endforeach()")
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fusec)
install(EXPORT fusecTargets NAMESPACE fusec:: DESTINATION ${package_dir})
configure_package_config_file(cmake/fusecConfig.cmake.in ${CMAKE_BINARY_DIR}/fusecConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/fusecConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/fusecConfig.cmake ${CMAKE_BINARY_DIR}/fusecConfigVersion.cmake
  DESTINATION ${package_dir})

# The prefix is found from the place of fusec.pc, so the installed tree may be moved.
set(FUSEC_PC_PRIVATE "-lm -pthread")
foreach(lib ${CMAKE_DL_LIBS})
  string(APPEND FUSEC_PC_PRIVATE " -l${lib}")
endforeach()
file(RELATIVE_PATH FUSEC_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/fusec.pc.in ${CMAKE_BINARY_DIR}/fusec.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/fusec.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
