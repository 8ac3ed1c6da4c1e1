# Targets of this project: one interface target carries the language level, the
# warnings and the sanitizers, so that no global flag is ever set.
add_library(torchport_options INTERFACE)
target_compile_features(torchport_options INTERFACE cxx_std_20)
target_compile_options(torchport_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Werror -fno-omit-frame-pointer>
  # GCC 12 sees overlaps in std::string operator+ that are not there (GCC PR 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
target_include_directories(torchport_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
if(TORCHPORT_SANITIZE)
  target_compile_options(torchport_options INTERFACE -fsanitize=${TORCHPORT_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(torchport_options INTERFACE -fsanitize=${TORCHPORT_SANITIZE})
endif()
if(TORCHPORT_FUZZ)
  # Coverage of our own code guides the fuzzer; the parser's tables would drown it.
  target_compile_options(torchport_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(TORCHPORT_CCACHE ccache)
if(TORCHPORT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TORCHPORT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${TORCHPORT_CCACHE})
endif()

# torchport_add_layer(NAME [DEPENDS target...])
# One static library out of every .cpp of the calling folder but its *_test.cpp.
# DEPENDS names the layers beneath: a layer sees nothing else.
function(torchport_add_layer name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  add_library(torchport_${name} STATIC ${sources})
  target_link_libraries(torchport_${name} PUBLIC torchport_options ${ARG_DEPENDS})
  # Position independent: the libraries that Python loads are made of them, too.
  set_target_properties(torchport_${name} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
endfunction()

# torchport_add_torch_layer(NAME [DEPENDS target...])
# The part of libtorchport that the .cpp files of the calling folder are. Nothing lists the parts:
# src/library takes all. What include/torchport does not mark TORCHPORT_API is hidden.
function(torchport_add_torch_layer name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(torchport_${name} OBJECT ${sources})
  target_link_libraries(torchport_${name} PUBLIC torchport_options torchport_torch ${ARG_DEPENDS})
  target_include_directories(torchport_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include)
  torchport_uses_torch(torchport_${name})
  set_property(GLOBAL APPEND PROPERTY TORCHPORT_LIBRARY_PARTS torchport_${name})
endfunction()

# What every target that includes torch's headers needs.
function(torchport_uses_torch target)
  target_precompile_headers(${target} PRIVATE
    <ATen/core/Tensor.h> <ATen/core/dispatch/Dispatcher.h> <torch/library.h>)
  # torch has its own fmt among its headers, and no library of it.
  target_compile_definitions(${target} PRIVATE FMT_HEADER_ONLY=1)
  # For ccache.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
    POSITION_INDEPENDENT_CODE ON)
endfunction()

# torchport_add_rules(TARGET)
# Every folder src/source/rules/FAMILY/NAME with a rule.cpp is a rule; its page.md is
# compiled in beside it. Adding a folder is all that adding a rule takes.
function(torchport_add_rules target)
  file(GLOB rule_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/*/*.cpp)
  file(GLOB rule_pages CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/*/page.md)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/rule_pages.cpp)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -DOUT=${generated} -DROOT=${CMAKE_CURRENT_SOURCE_DIR} "-DPAGES=${rule_pages}"
            -P ${PROJECT_SOURCE_DIR}/cmake/EmbedPages.cmake
    DEPENDS ${rule_pages} ${PROJECT_SOURCE_DIR}/cmake/EmbedPages.cmake
    VERBATIM)
  # An object library: a static one would drop the rules, since nothing names them.
  add_library(${target} OBJECT ${rule_sources} ${generated})
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()

# torchport_add_test(NAME SOURCES... [DEPENDS target...])
function(torchport_add_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE torchport_options ${ARG_DEPENDS})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
