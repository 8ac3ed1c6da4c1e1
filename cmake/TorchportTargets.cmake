# Targets of this project: one interface target carries the language level, the warnings and the
# sanitizers, so that no global flag is ever set. These are the defaults of properties: the libraries
# that Python loads are made of every layer, and export what they mark.
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# CMake's own choice for a release is -O3, which took a sixth longer to compile. What of it makes loops
# over numbers faster is kept: vectors. clang vectorizes from -O2 on, and has no such option; with its own limit of
# 225 it inlines so much that compilation takes a fifth longer and the libraries are an eighth larger.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
  add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:SHELL:-mllvm -inline-threshold=50>")
else()
  string(REPLACE "-O3" "-O2 -fvect-cost-model=dynamic" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
endif()

add_library(torchport_options INTERFACE)
target_compile_features(torchport_options INTERFACE cxx_std_20)
target_compile_options(torchport_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<NOT:$<BOOL:${TORCHPORT_RUNTIME_ONLY}>>:-Werror> -fno-omit-frame-pointer>
  # The linker leaves out functions that nobody calls, also where sources are joined.
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-ffunction-sections>
  # GCC 12 warns about errors of std::string's operator+ that do not exist (GCC PR 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict
  -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds>
  # clang-tidy checks `override`; one function has none, for older releases of torch.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-inconsistent-missing-override>)
if(TORCHPORT_SANITIZE)
  target_compile_options(torchport_options INTERFACE -fsanitize=${TORCHPORT_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(torchport_options INTERFACE -fsanitize=${TORCHPORT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    target_compile_options(torchport_options INTERFACE
      -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizers.ignore)
  endif()
endif()
if(TORCHPORT_FUZZ)
  # Only coverage of our own code guides the fuzzer, because the parser's tables would dominate it.
  target_compile_options(torchport_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(TORCHPORT_CCACHE ccache)
if(TORCHPORT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TORCHPORT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${TORCHPORT_CCACHE})
endif()

# torchport_include_root(TARGET [SCOPE])
#   Gives TARGET, and each target that links it, the headers of the calling folder under their path
#   from src/, and no others: the compiler gets a root that contains a link to this folder alone. So
#   an include of a layer that is not among a target's DEPENDS does not compile.
function(torchport_include_root target)
  set(scope PUBLIC)
  if(ARGC GREATER 1)
    set(scope ${ARGV1})
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src
    OUTPUT_VARIABLE folder)
  # All build folders share one root, so that ccache sees the same paths from each of them.
  set(root ${PROJECT_SOURCE_DIR}/build/include_roots/${target})
  cmake_path(GET folder PARENT_PATH parent)
  file(MAKE_DIRECTORY ${root}/${parent})
  if(NOT EXISTS ${root}/${folder})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${folder} SYMBOLIC)
  endif()
  target_include_directories(${target} ${scope} ${root})
endfunction()

# torchport_precompile(TARGET HEADERS header... [DEPENDS target...] [DEFINITIONS NAME=VALUE...]
#                      [OPTIONS option...])
#   Precompiles HEADERS for TARGET, once for all targets that name the same headers. Libraries and
#   programs are compiled with the same flags, because a compiler refuses headers that were
#   precompiled with others.
function(torchport_precompile target)
  cmake_parse_arguments(ARG "" "" "HEADERS;DEPENDS;DEFINITIONS;OPTIONS" ${ARGN})
  string(MD5 owner "${ARG_HEADERS}")
  string(SUBSTRING ${owner} 0 8 owner)
  set(owner torchport_headers_${owner})
  if(NOT TARGET ${owner})
    set(empty ${PROJECT_BINARY_DIR}/${owner}.cpp)
    file(WRITE ${empty} "")
    add_library(${owner} OBJECT ${empty})
    target_link_libraries(${owner} PRIVATE torchport_options ${ARG_DEPENDS})
    target_compile_options(${owner} PRIVATE ${TORCHPORT_PRECOMPILED_OPTIONS} ${ARG_OPTIONS})
    target_compile_definitions(${owner} PRIVATE ${ARG_DEFINITIONS})
    target_precompile_headers(${owner} PRIVATE ${ARG_HEADERS})
  endif()
  target_compile_options(${target} PRIVATE ${TORCHPORT_PRECOMPILED_OPTIONS} ${ARG_OPTIONS})
  target_compile_definitions(${target} PRIVATE ${ARG_DEFINITIONS})
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
# The second and third are for ccache.
set(TORCHPORT_PRECOMPILED_OPTIONS -fPIC $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
  "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")

# Most headers take longer to read than a file of this project, so up to 16 files
# of a target are one unit. Names in one target are unique for this, also in unnamed namespaces; files
# that are made by copying one, as rules are, have a namespace of their own. A developer who changes
# one file often switches it off: cmake --preset release -DTORCHPORT_JOIN_SOURCES=OFF
option(TORCHPORT_JOIN_SOURCES "Compile the sources of a layer many at a time" ON)
function(torchport_join_sources target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TORCHPORT_JOIN_SOURCES}
    UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# What many files without torch include.
set(TORCHPORT_BASE_HEADERS <algorithm> <array> <charconv> <chrono> <filesystem> <functional> <map>
  <memory> <mutex> <optional> <set> <string> <string_view> <thread> <unordered_map> <unordered_set>
  <utility> <vector> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp> <tl/expected.hpp>)
function(torchport_uses_base target)
  torchport_precompile(${target} HEADERS ${TORCHPORT_BASE_HEADERS} DEPENDS torchport_fmt)
endfunction()

# torchport_short_paths(RESULT)
#   Options for code with torch's checks, which contain the path of their source file: the compiler
#   writes it from the project's or torch's folder on, so that a build in another folder gives the
#   same bytes. ccache makes paths relative to the build folder before the compiler sees them.
function(torchport_short_paths result)
  set(torch ${TORCHPORT_TORCH_ROOT}/include)
  file(REAL_PATH ${torch} real_torch)  # GCC follows links to headers of the system
  foreach(root ${PROJECT_SOURCE_DIR} ${torch} ${real_torch})  # the last that fits counts
    cmake_path(RELATIVE_PATH root BASE_DIRECTORY ${PROJECT_BINARY_DIR} OUTPUT_VARIABLE relative)
    list(APPEND options -fmacro-prefix-map=${root}/= -fmacro-prefix-map=${relative}/=)
  endforeach()
  set(${result} ${options} PARENT_SCOPE)
endfunction()

# What many files with torch include.
set(TORCHPORT_TORCH_HEADERS <algorithm> <array> <atomic> <chrono> <functional> <map> <memory> <mutex>
  <optional> <set> <string> <string_view> <thread> <tuple> <unordered_map> <unordered_set> <utility>
  <vector> <ATen/core/Tensor.h> <ATen/core/dispatch/Dispatcher.h> <torch/library.h> <ATen/core/stack.h>
  <ATen/core/grad_mode.h> <ATen/Context.h> <ATen/Dispatch.h> <ATen/ExpandUtils.h> <ATen/Parallel.h>
  <ATen/TensorIterator.h> <ATen/TensorOperators.h> <ATen/ops/arange.h> <ATen/ops/cat.h>
  <ATen/ops/empty.h> <ATen/ops/empty_like.h> <ATen/ops/empty_strided.h> <ATen/ops/ones.h>
  <ATen/ops/where.h> <ATen/ops/zeros.h> <ATen/ops/zeros_like.h> <c10/core/CPUAllocator.h>
  <c10/core/DeviceGuard.h> <c10/core/StorageImpl.h> <fmt/format.h> <fmt/ranges.h>
  <nlohmann/json.hpp>)
# What every target that includes torch's headers needs.
function(torchport_uses_torch target)
  torchport_join_sources(${target})
  torchport_short_paths(paths)
  # torch has its own fmt among its headers, but no library of it. Header-only, every unit would
  # compile all of it again, which was a sixth of the code of all units.
  if(NOT TARGET torchport_torch_fmt)
    add_library(torchport_torch_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/torch_fmt_library.cpp)
    target_link_libraries(torchport_torch_fmt PRIVATE torchport_options torchport_torch)
  endif()
  target_link_libraries(${target} PRIVATE torchport_torch_fmt)
  # The system's fmt, which layers without torch link, is a shared library to its users.
  torchport_precompile(${target} HEADERS ${TORCHPORT_TORCH_HEADERS} DEPENDS torchport_torch
    OPTIONS ${paths} -UFMT_SHARED)
endfunction()

# torchport_compile_cold(TARGET)
#   For code that runs once in a command, or tests: a release compiles it with -O1, which takes a quarter less time.
#   A build that is not optimized at all stays so; headers that it precompiled would not fit.
function(torchport_compile_cold target)
  if(CMAKE_CXX_FLAGS_RELEASE MATCHES "-O2")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# torchport_add_layer(NAME [OBJECTS] [THREADS] [COLD] [DEPENDS target...] [TEST_DEPENDS target...])
#   Makes one static library from every .cpp of the calling folder, and one test from its
#   *_test.cpp. DEPENDS names the layers below; a layer sees nothing else. TEST_DEPENDS is what only
#   the test needs. OBJECTS makes an object library, for a layer whose parts register themselves:
#   a linker drops unreferenced members of a static library. Each target that links such a layer has
#   to name it. COLD is for a layer whose time nobody notices. THREADS is for a layer that starts threads or is called from several: `make tsan`
#   runs its test.
function(torchport_add_layer name)
  cmake_parse_arguments(ARG "OBJECTS;THREADS;COLD" "" "DEPENDS;TEST_DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  if(ARG_OBJECTS)
    add_library(torchport_${name} OBJECT ${sources})
  else()
    add_library(torchport_${name} STATIC ${sources})
  endif()
  torchport_join_sources(torchport_${name})
  target_link_libraries(torchport_${name} PUBLIC torchport_options ${ARG_DEPENDS})
  torchport_include_root(torchport_${name})
  torchport_uses_base(torchport_${name})
  if(ARG_COLD)
    torchport_compile_cold(torchport_${name})
  endif()
  torchport_add_layer_test(${name} DEPENDS torchport_${name} ${ARG_TEST_DEPENDS})
  if(ARG_THREADS)
    torchport_test_threads(${name}_test)
  endif()
endfunction()

# torchport_add_torch_layer(NAME [DEPENDS target...] [TEST_DEPENDS target...])
#   Makes a part of libtorchport from the .cpp files of the calling folder and its subfolders, and
#   one test from their *_test.cpp. No list names the parts: src/runtime/library takes all of them.
#   Everything that include/torchport does not mark TORCHPORT_API is hidden.
function(torchport_add_torch_layer name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;TEST_DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  add_library(torchport_${name} OBJECT ${sources})
  target_link_libraries(torchport_${name} PUBLIC torchport_options torchport_torch ${ARG_DEPENDS})
  target_include_directories(torchport_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include)
  torchport_include_root(torchport_${name})
  torchport_uses_torch(torchport_${name})
  set_property(GLOBAL APPEND PROPERTY TORCHPORT_LIBRARY_PARTS torchport_${name})
  torchport_add_torch_layer_test(${name} DEPENDS torchport_${name} ${ARG_TEST_DEPENDS})
endfunction()

# torchport_add_torch_layer_test(NAME DEPENDS target... [ENVIRONMENT NAME=VALUE...])
#   Makes NAME_test from every *_test.cpp of the calling folder and its subfolders, and nothing if
#   there is none. It links torch and DEPENDS. Object layers have to be named one by one, because
#   objects are not linked through the layers that depend on them. ENVIRONMENT is that of the run by
#   `ctest --preset release`: TORCHPORT_VIRTUAL=cuda:2 makes virtual devices.
function(torchport_add_torch_layer_test name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;ENVIRONMENT" ${ARGN})
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  if(BUILD_TESTING AND tests)
    torchport_add_test(${name}_test SOURCES ${tests} DEPENDS torchport_torch ${ARG_DEPENDS})
    torchport_uses_torch(${name}_test)
    set_tests_properties(${name}_test PROPERTIES ENVIRONMENT "OMP_NUM_THREADS=1;${ARG_ENVIRONMENT}")
    torchport_test_threads(${name}_test)
  endif()
endfunction()

# torchport_add_rules(TARGET)
#   Each folder src/source/rules/FAMILY/NAME with a rule.cpp is a rule, and its page.md is compiled
#   in. Adding a rule takes only a new folder.
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
  # An object library: a linker would drop the rules of a static one, because nothing names them.
  add_library(${target} OBJECT ${rule_sources} ${generated})
  torchport_join_sources(${target})
  torchport_uses_base(${target})
endfunction()

# What AddressSanitizer builds: all tests. What ThreadSanitizer builds: the tests of layers with
# threads.
add_custom_target(torchport_tests)
add_custom_target(torchport_thread_tests)
function(torchport_test_threads test)
  if(TARGET ${test})
    add_dependencies(torchport_thread_tests ${test})
    set_tests_properties(${test} PROPERTIES LABELS threads)
  endif()
endfunction()

# torchport_add_test(NAME SOURCES... [DEPENDS target...])
function(torchport_add_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  if(NOT TARGET torchport_test_main)
    add_library(torchport_test_main OBJECT ${PROJECT_SOURCE_DIR}/cmake/test_main.cpp)
    target_link_libraries(torchport_test_main PUBLIC torchport_options doctest::doctest)
  endif()
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})  # who builds the program needs no test
  torchport_join_sources(${name})
  torchport_compile_cold(${name})
  target_link_libraries(${name} PRIVATE torchport_test_main ${ARG_DEPENDS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  add_dependencies(torchport_tests ${name})
endfunction()

# torchport_add_layer_test(NAME DEPENDS target...)
#   Makes NAME_test from every *_test.cpp of the calling folder, and nothing if there is none.
function(torchport_add_layer_test name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  if(BUILD_TESTING AND tests)
    torchport_add_test(${name}_test SOURCES ${tests} DEPENDS ${ARG_DEPENDS})
    torchport_uses_base(${name}_test)
  endif()
endfunction()

# torchport_embed_text(TARGET FILE NAME)
#   Makes FILE a string literal that TARGET includes by NAME. FILE must be smaller than 64 KiB, the
#   longest literal of some compilers.
function(torchport_embed_text target file name)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/include/${name})
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -DOUT=${generated} -DFILE=${file}
            -P ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
    DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${generated})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/include)
endfunction()
