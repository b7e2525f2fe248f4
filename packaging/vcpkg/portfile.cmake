# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# vcpkg's recipe; scripts/release fills in the archive and its checksum.
vcpkg_download_distfile(archive
    URLS "@URL@/fusec-${VERSION}.tar.gz" FILENAME "fusec-${VERSION}.tar.gz" SHA512 @SHA512@)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${archive}")

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES tools FUSEC_BUILD_COMMAND)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS ${features} -DFUSEC_BUILD_TESTS=OFF -DFUSEC_BUILD_PYTHON=OFF -DFUSEC_WERROR=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/fusec)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES fusec AUTO_CLEAN)
endif()

# One of the two libraries, as the triplet asks.
if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
    file(GLOB unwanted "${CURRENT_PACKAGES_DIR}/lib/libfusec.so*" "${CURRENT_PACKAGES_DIR}/debug/lib/libfusec.so*")
    file(REMOVE ${unwanted})
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
