# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# FusecManual - man pages and completion scripts, printed by the command that was just built.
set(manual ${CMAKE_BINARY_DIR}/manual)
file(MAKE_DIRECTORY ${manual})

# fusec_page(file arguments...): `fusec arguments...` into a file.
set(manual_files "")
function(fusec_page file)
  string(REPLACE ";" " " shown "${ARGN}")
  add_custom_command(OUTPUT ${manual}/${file} VERBATIM DEPENDS fusec_cli
    COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0
            sh -c "\"$1\" ${shown} >\"$2\"" page $<TARGET_FILE:fusec_cli> ${manual}/${file}
    COMMENT "Writing ${file}")
  set(manual_files ${manual_files} ${manual}/${file} PARENT_SCOPE)
endfunction()

fusec_page(fusec.1 help --man)
foreach(command run check explain bench build fmt devices cache help completion)
  fusec_page(fusec-${command}.1 help --man ${command})
endforeach()
set(pages ${manual_files})
fusec_page(fusec completion bash)
fusec_page(_fusec completion zsh)
fusec_page(fusec.fish completion fish)
add_custom_target(fusec_manual ALL DEPENDS ${manual_files})

install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${manual}/fusec DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${manual}/_fusec DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${manual}/fusec.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
