# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` puts where, and the Debian package (cpack -G DEB): the program with its
# manual and completions; the library as one archive, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

# ---- the library for embedders: include/agentfs, libagentfs.a
set(library_parts agentfs_base agentfs_sys agentfs_store agentfs_store_memory agentfs_store_sqlite
  agentfs_store_lmdb agentfs_core agentfs_files)
set(library_objects)
foreach(part ${library_parts})
  list(APPEND library_objects $<TARGET_OBJECTS:${part}>)
endforeach()
add_library(agentfs_archive STATIC ${library_objects})
set_target_properties(agentfs_archive PROPERTIES OUTPUT_NAME agentfs EXPORT_NAME agentfs
  LINKER_LANGUAGE CXX)
target_compile_features(agentfs_archive INTERFACE cxx_std_20)
target_link_libraries(agentfs_archive INTERFACE absl::btree absl::flat_hash_map absl::flat_hash_set
  absl::hash absl::synchronization absl::time fmt::fmt SQLite::SQLite3 PkgConfig::LMDB
  PkgConfig::ZSTD LibArchive::LibArchive Threads::Threads)

install(TARGETS agentfs_archive EXPORT agentfs ARCHIVE
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/agentfs DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/agentfs)
install(EXPORT agentfs NAMESPACE agentfs:: FILE agentfs-targets.cmake
  DESTINATION ${package_directory})
configure_package_config_file(cmake/agentfs-config.cmake.in agentfs-config.cmake
  INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(agentfs-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/agentfs-config.cmake
  ${CMAKE_BINARY_DIR}/agentfs-config-version.cmake DESTINATION ${package_directory})
# The file says where it is itself, so that it holds wherever everything is put.
file(RELATIVE_PATH way_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/agentfs.pc.in agentfs.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/agentfs.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ---- the program's manual and completions
install(FILES ${CMAKE_SOURCE_DIR}/docs/man/agentfs.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_SOURCE_DIR}/docs/man/agentfs-policy.5
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/docs/guide.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})

function(agentfs_completion shell directory name)
  set(file ${CMAKE_BINARY_DIR}/completion/${shell})
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/completion
    COMMAND agentfs completion ${shell} > ${file} DEPENDS agentfs VERBATIM)
  add_custom_target(completion_${shell} ALL DEPENDS ${file})
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${directory} RENAME ${name})
endfunction()
agentfs_completion(bash bash-completion/completions agentfs)
agentfs_completion(zsh zsh/vendor-completions _agentfs)
agentfs_completion(fish fish/vendor_completions.d agentfs.fish)

# ---- the Debian package
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "AgentFS maintainers <maintainers@agentfs.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "copy-on-write filesystem and sandbox for AI agents")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
get_property(lazy_packages GLOBAL PROPERTY AGENTFS_LAZY_PACKAGES)
list(JOIN lazy_packages ", " lazy_packages)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "bubblewrap, fuse3, ${lazy_packages}")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION_SUMMARY}
 An agent gets a view of a real directory that it can read and change without
 consequences. Every change lands in a branch; the person decides what is
 applied to the real files, and can undo even that.")
include(CPack)
