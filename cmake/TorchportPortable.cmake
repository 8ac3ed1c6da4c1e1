# Links what is installed so that it starts on older systems than the one that builds it: the wheel
# has the tag manylinux_2_28, which stands for glibc 2.28 and the libstdc++ of GCC 8.
#
# Only the link differs from that of an ordinary build; the objects are the same. So what the tests
# run is what the wheel contains, and nothing is compiled twice. A program or library is linked
# against stubs of the system's libraries, in which each symbol has the newest version that the policy
# allows (src/portable/stubs.py). What is newer comes from two static libraries, and is hidden:
# libtorchport_old_glibc.a (src/portable) has the few functions of glibc, libstdc++.a the rest.
#
# Rejected: a compiler in an image of the policy compiles everything a second time, and needs
# containers; PyPI's `ziglang` has another C++ library, which torch's exceptions do not cross; a root
# of Debian 11 has glibc 2.31, and no compiler for C++20 as it is used here.
#
# A newer GCC or glibc may need functions that src/portable does not have yet: the linker names them.
include(CMakeDependentOption)
find_package(Python3 COMPONENTS Interpreter)
set(_possible OFF)
if(CMAKE_SYSTEM_NAME STREQUAL Linux AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64
    AND CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$" AND Python3_Interpreter_FOUND AND NOT TORCHPORT_SANITIZE)
  set(_possible ON)
endif()
# GCC's version: Clang has the libraries of the newest GCC of the system.
set(_gcc ${CMAKE_CXX_COMPILER_VERSION})
if(_possible AND CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a OUTPUT_VARIABLE _gcc
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX REPLACE ".*/([0-9.]+)/libstdc\\+\\+\\.a$" "\\1" _gcc "${_gcc}")
endif()
set(_default OFF)
if(CMAKE_BUILD_TYPE STREQUAL Release AND _gcc MATCHES "^[0-9.]+$" AND _gcc VERSION_LESS 13)
  set(_default ON)
endif()
cmake_dependent_option(TORCHPORT_PORTABLE "Link for glibc 2.28 and later" ${_default} _possible OFF)

set(TORCHPORT_STUBS ${PROJECT_BINARY_DIR}/stubs)
if(TORCHPORT_PORTABLE)
  set(_writer ${PROJECT_SOURCE_DIR}/src/portable/stubs.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_writer})
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${_writer} ${TORCHPORT_STUBS} ${CMAKE_CXX_COMPILER}
      ${TORCHPORT_STUBS}/libtorchport_old_glibc.a
    COMMAND_ERROR_IS_FATAL ANY)
endif()

# torchport_link_portable(TARGET [STATIC_CXX])
#   Links TARGET for older systems, and hides what it has of static libraries. STATIC_CXX is for a
#   program that does not load torch: it contains libstdc++ and libgcc. What loads torch shares them
#   with it, because exceptions cross.
function(torchport_link_portable target)
  cmake_parse_arguments(ARG "STATIC_CXX" "" "" ${ARGN})
  if(NOT TORCHPORT_PORTABLE)
    return()
  endif()
  target_link_options(${target} PRIVATE -L${TORCHPORT_STUBS} -Wl,--exclude-libs,ALL
    -Wl,--gc-sections
    $<$<BOOL:${ARG_STATIC_CXX}>:-static-libstdc++ -static-libgcc>)
  # A program gives no name to the libraries that it loads. What a library has of libstdc++ in its own objects,
  # and other releases of it have in another way, stays inside.
  get_target_property(_type ${target} TYPE)
  set(_hidden ${PROJECT_SOURCE_DIR}/cmake/hide_std.version)
  if(_type STREQUAL EXECUTABLE)
    set(_hidden ${PROJECT_SOURCE_DIR}/cmake/hide_all.version)
  endif()
  target_link_options(${target} PRIVATE -Wl,--version-script=${_hidden})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${_hidden})
  add_dependencies(${target} torchport_old_glibc)
  set_property(TARGET ${target} APPEND PROPERTY
    LINK_DEPENDS ${TORCHPORT_STUBS}/libtorchport_old_glibc.a)
endfunction()
