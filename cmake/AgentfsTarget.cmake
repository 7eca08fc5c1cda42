# SPDX-License-Identifier: Apache-2.0
#
# One library a folder: agentfs_library(NAME SOURCES a.cc ... DEPENDS target ...).
# agentfs_test(NAME SOURCES a.cc ... DEPENDS target ...) makes a GoogleTest program and registers
# each of its suites with ctest, labelled with its folder below tests/ (ctest -L unit); BY_CASE: each
# of its cases, where one takes long enough to be worth a process. The target tests_FOLDER builds the
# programs of a folder.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# A sanitizer's program has millions of addresses in its data: relocating them would take most of
# the time of a short command.
string(COMPARE NOTEQUAL "${AGENTFS_SANITIZER}" address CMAKE_POSITION_INDEPENDENT_CODE)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(AGENTFS_CCACHE ccache)
if(AGENTFS_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${AGENTFS_CCACHE})
endif()

add_library(agentfs_flags INTERFACE)
target_include_directories(agentfs_flags INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_compile_options(agentfs_flags INTERFACE -Wall -Wextra -Werror=return-type
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # wrong in GCC 12 (its bug 105329)
  $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)  # takes the files of a batch for headers
if(AGENTFS_SANITIZER STREQUAL "address")
  # Left out is what doubles the code and what AddressSanitizer or the processor sees as well.
  target_compile_options(agentfs_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-sanitize=alignment,function,nonnull-attribute,null,object-size,pointer-overflow,returns-nonnull-attribute,vptr
    -fno-omit-frame-pointer -fno-pie)
  target_link_options(agentfs_flags INTERFACE -fsanitize=address,undefined -no-pie)
elseif(AGENTFS_SANITIZER STREQUAL "thread")
  target_compile_options(agentfs_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(agentfs_flags INTERFACE -fsanitize=thread)
  include(AgentfsTsan)
endif()
find_program(AGENTFS_LLD ld.lld)
if(AGENTFS_LLD)
  target_link_options(agentfs_flags INTERFACE -fuse-ld=lld)
endif()

function(agentfs_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC agentfs_flags ${ARG_DEPENDS})
endfunction()

# Where the shared library FILE has an archive beside it, that one.
function(agentfs_archive_of result file)
  string(REGEX REPLACE "[.]so([.][0-9.]+)?$" ".a" archive "${file}")
  if(NOT EXISTS "${archive}")
    set(archive "${file}")
  endif()
  set(${result} "${archive}" PARENT_SCOPE)
endfunction()

# Links the archives of imported shared libraries instead, where there are some: each library costs
# every start of the program a tenth of a millisecond (decision 15).
function(agentfs_link_archives pattern)
  if(AGENTFS_SANITIZER)
    return()
  endif()
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  list(FILTER targets INCLUDE REGEX "${pattern}")
  foreach(target IN LISTS targets)
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    list(TRANSFORM configurations PREPEND _)
    foreach(suffix IN LISTS configurations ITEMS "")
      get_target_property(file ${target} IMPORTED_LOCATION${suffix})
      if(file)
        agentfs_archive_of(archive "${file}")
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION${suffix} ${archive})
      endif()
    endforeach()
    get_target_property(needed ${target} INTERFACE_LINK_LIBRARIES)
    set(archives)
    foreach(file IN LISTS needed)
      agentfs_archive_of(archive "${file}")
      list(APPEND archives "${archive}")
    endforeach()
    if(needed)
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${archives}")
    endif()
  endforeach()
endfunction()

# NAME stands for a library that Debian has no archive of: its own sources, which its headers come
# with, compiled by cmake/archives/FILE; for sanitizers the shared library IMPORTED.
function(agentfs_compiled_archive name file imported)
  if(AGENTFS_SANITIZER)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${imported})
    return()
  endif()
  add_library(${name} STATIC ${CMAKE_SOURCE_DIR}/cmake/archives/${file})
  target_include_directories(${name} SYSTEM PUBLIC
    $<TARGET_PROPERTY:${imported},INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_options(${name} PRIVATE -O2)
endfunction()

# A library that TARGET loads when it first calls it (src/sys/lazy_library.h): NAME becomes the name
# to load it by, and the Debian package depends on the package that has it.
function(agentfs_lazy_library target name file includes)
  execute_process(COMMAND ${CMAKE_READELF} -d ${file} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  if(NOT dynamic MATCHES "SONAME[^[]*\\[([^]]+)\\]")
    message(FATAL_ERROR "${file} has no name to load it by")
  endif()
  target_compile_definitions(${target} PRIVATE ${name}="${CMAKE_MATCH_1}")
  target_include_directories(${target} SYSTEM PRIVATE ${includes})
  get_filename_component(real ${file} REALPATH)
  execute_process(COMMAND dpkg-query -S ${real} OUTPUT_VARIABLE owner ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND owner MATCHES "^([^:]+):")
    set_property(GLOBAL APPEND PROPERTY AGENTFS_LAZY_PACKAGES ${CMAKE_MATCH_1})
  endif()
endfunction()

# BY_CASE: each case is a test of ctest, not each suite. THREADS: ThreadSanitizer has something to
# find there: part of the target tests_threads, and labelled so (cases cannot have two labels).
function(agentfs_test name)
  cmake_parse_arguments(ARG "BY_CASE;THREADS" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" folder ${folder})
  if(NOT ARG_LABELS)
    set(ARG_LABELS ${folder})
  endif()
  add_executable(${name} ${ARG_SOURCES})
  if(ARG_THREADS)
    if(NOT ARG_BY_CASE)
      list(APPEND ARG_LABELS threads)
    endif()
    if(NOT TARGET tests_threads)
      add_custom_target(tests_threads)
    endif()
    add_dependencies(tests_threads ${name})
  endif()
  # The tests' own code is compiled for a quick build; what they test is optimised.
  target_compile_options(${name} PRIVATE -O0 -g1)
  if(AGENTFS_SANITIZER)  # some cases then do less of the same
    target_compile_definitions(${name} PRIVATE AGENTFS_SANITIZED)
  endif()
  if(AGENTFS_SANITIZER STREQUAL "address")  # a third of what compiling them takes
    target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
  endif()
  target_link_libraries(${name} PRIVATE agentfs_flags ${ARG_DEPENDS} GTest::gtest GTest::gtest_main GTest::gmock)
  if(ARG_BY_CASE)
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
      PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
    return()
  endif()
  set(suites ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
  file(GENERATE OUTPUT ${suites} CONTENT "set(program \"$<TARGET_FILE:${name}>\")
set(labels \"${ARG_LABELS}\")
set(timeout ${ARG_TIMEOUT})
include(\"${CMAKE_SOURCE_DIR}/cmake/AddSuites.cmake\")
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${suites})
endfunction()
