# C++/CUDA extensions of PyTorch, built by the plan of `torchport build-plan`.
#
#   include(Torchport)        # CMAKE_MODULE_PATH: `torchport --cmake-dir`, or find_package(torchport)
#   torchport_torch_extension(_C SOURCES ops.cpp CUDA_SOURCES ops.cu)
#   install(TARGETS _C DESTINATION pkg)
#
# It builds against the torch of Python3_EXECUTABLE and uses the headers and libraries of its wheel.
# It does not use find_package(Torch), which fails if torch is built with CUDA and there is no toolkit.
# The C++ part is always built; the plan decides about CUDA_SOURCES. If they are not built, a call of
# them raises an error that says why. If the plan is a refusal, the configuration fails.
#
# TORCHPORT_BUILD (auto, cuda, cpu), TORCH_CUDA_ARCH_LIST, FORCE_CUDA and CUDA_HOME can be variables of
# CMake or of the environment. The decision does not depend on a GPU.
#
# TORCHPORT_WITH_CUDA and WITH_CUDA are defined if the CUDA part is built. The function sets
# TORCHPORT_OUTCOME (cuda, cpu), TORCHPORT_CUDA_ARCHS and TORCHPORT_TORCH_DIR.
cmake_minimum_required(VERSION 3.19)

set(_torchport_here "${CMAKE_CURRENT_LIST_DIR}" CACHE INTERNAL "")

# torchport_torch_extension(NAME SOURCES source... [CUDA_SOURCES source...] [MODULE name])
#
# Adds the module library NAME. MODULE is its name in Python, such as pkg._C; the default is NAME. Its
# last part is the name of the file. This is a macro, because a language must be enabled in the scope
# of the caller.
macro(torchport_torch_extension name)
  _torchport_plan()
  cmake_parse_arguments(_torchport "" "" "CUDA_SOURCES" ${ARGN})
  if(TORCHPORT_OUTCOME STREQUAL "cuda" AND _torchport_CUDA_SOURCES AND NOT CMAKE_CUDA_COMPILER_LOADED)
    _torchport_choose_nvcc("${TORCHPORT_CUDA_HOME}/bin/nvcc")
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES "${TORCHPORT_CMAKE_ARCHS}")
    endif()
    enable_language(CUDA)
  endif()
  _torchport_add_extension(${name} ${ARGN})
endmacro()

# CMake never changes the compiler of a build folder.
macro(_torchport_choose_nvcc nvcc)
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER "${nvcc}")
    set(_torchport_nvcc "${nvcc}" CACHE INTERNAL "")
  elseif(CMAKE_CUDA_COMPILER STREQUAL _torchport_nvcc AND NOT _torchport_nvcc STREQUAL "${nvcc}")
    message(FATAL_ERROR "torchport: this build folder was configured for ${_torchport_nvcc}, but the "
      "plan is now for ${nvcc}; use an empty build folder")
  endif()
endmacro()

# The program is in the environment of this file, in that of Python, or in the PATH.
function(_torchport_find_program)
  get_filename_component(python_bin "${Python3_EXECUTABLE}" DIRECTORY)
  set(here "${_torchport_here}")
  if(TORCHPORT_PROGRAM AND NOT EXISTS "${TORCHPORT_PROGRAM}")
    unset(TORCHPORT_PROGRAM CACHE)  # of an isolated build that is over
  endif()
  find_program(TORCHPORT_PROGRAM torchport
    HINTS "${here}/../../../bin" "${here}/../../../../../../bin" "${python_bin}"
    DOC "The torchport program" REQUIRED)
endfunction()

# CMake variables take precedence over environment variables.
function(_torchport_settings out)
  set(settings "")
  foreach(name TORCHPORT_BUILD FORCE_CUDA TORCH_CUDA_ARCH_LIST CUDA_HOME)
    if(DEFINED ${name})
      string(REPLACE ";" "," value "${${name}}")
      list(APPEND settings "${name}=${value}")
    endif()
  endforeach()
  # The compiler of a project that has enabled the language itself.
  if(CMAKE_CUDA_COMPILER AND NOT CMAKE_CUDA_COMPILER STREQUAL _torchport_nvcc AND NOT DEFINED CUDA_HOME)
    get_filename_component(nvcc "${CMAKE_CUDA_COMPILER}" REALPATH)
    get_filename_component(bin "${nvcc}" DIRECTORY)
    get_filename_component(home "${bin}" DIRECTORY)
    list(APPEND settings "CUDA_HOME=${home}")
  endif()
  set(${out} "${settings}" PARENT_SCOPE)
endfunction()

function(_torchport_check_target torch)
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -m torchport.build --check-target "${torch}"
            --project "${CMAKE_SOURCE_DIR}"
    OUTPUT_VARIABLE notes ERROR_VARIABLE error RESULT_VARIABLE result)
  if(error MATCHES "No module named '?torchport")
    message(STATUS "torchport: ${Python3_EXECUTABLE} has no torchport, so this torch is not compared "
                   "with the target's torch")
  elseif(NOT result EQUAL 0)
    message(FATAL_ERROR "${error}")
  elseif(notes)
    message(STATUS "${notes}")
  endif()
endfunction()

# Decides once in each configuration. Sets TORCHPORT_... in the caller's scope.
macro(_torchport_plan)
  if(NOT Python3_EXECUTABLE AND Python_EXECUTABLE)
    set(Python3_EXECUTABLE "${Python_EXECUTABLE}")
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter Development.Module)
  get_property(_torchport_json GLOBAL PROPERTY TORCHPORT_PLAN)
  if(NOT _torchport_json)
    _torchport_decide()
    get_property(_torchport_json GLOBAL PROPERTY TORCHPORT_PLAN)
  endif()
  _torchport_read("${_torchport_json}")
endmacro()

function(_torchport_decide)
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c
      "import importlib.util as u, pathlib as p\ns = u.find_spec('torch')\nprint(p.Path(s.origin).parent if s else '')"
    OUTPUT_VARIABLE torch OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE result)
  if(NOT torch OR NOT result EQUAL 0)
    message(FATAL_ERROR "torchport: torch was not found by ${Python3_EXECUTABLE}, so there is nothing "
      "to build against. Build without isolation (pip install --no-build-isolation), or name the "
      "target's torch in build-system.requires")
  endif()
  _torchport_find_program()
  _torchport_settings(settings)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env ${settings} "${TORCHPORT_PROGRAM}" build-plan --json --torch
            "${torch}"
    OUTPUT_VARIABLE json ERROR_VARIABLE error)
  if(NOT json)
    message(FATAL_ERROR "${error}")
  endif()
  foreach(key outcome code reason remedy)
    string(JSON ${key} GET "${json}" ${key})
  endforeach()
  if(outcome STREQUAL "refuse")
    message(FATAL_ERROR "torchport: refusing to build: ${reason} [${code}]\n${remedy}")
  endif()
  if(outcome MATCHES "^(rocm|xpu)$")
    # This function compiles only for CUDA.
    string(TOLOWER "${settings} TORCHPORT_BUILD=$ENV{TORCHPORT_BUILD} FORCE_CUDA=$ENV{FORCE_CUDA}"
      demands)
    if(demands MATCHES "torchport_build=(rocm|xpu)|force_cuda=(1|on|y|true)")
      message(FATAL_ERROR "torchport: refusing to build: torchport_torch_extension does not compile "
        "code for ${outcome}: use setuptools with torchport.build")
    endif()
    execute_process(
      COMMAND "${CMAKE_COMMAND}" -E env ${settings} TORCHPORT_BUILD=cpu FORCE_CUDA=0
              "${TORCHPORT_PROGRAM}" build-plan --json --torch "${torch}"
      OUTPUT_VARIABLE json)
    foreach(key outcome code reason)
      string(JSON ${key} GET "${json}" ${key})
    endforeach()
  endif()
  _torchport_check_target("${torch}")
  message(STATUS "torchport: ${outcome}: ${reason} [${code}]")
  string(JSON count LENGTH "${json}" notes)
  foreach(index RANGE ${count})
    if(index LESS count)
      string(JSON note GET "${json}" notes ${index})
      message(STATUS "torchport: ${note}")
    endif()
  endforeach()
  set(file "${CMAKE_BINARY_DIR}/torchport/plan.json")
  file(GENERATE OUTPUT "${file}" CONTENT "${json}")
  set_property(GLOBAL PROPERTY TORCHPORT_PLAN "${json}")
  set_property(GLOBAL PROPERTY TORCHPORT_PLAN_FILE "${file}")
endfunction()

macro(_torchport_read json)
  string(JSON TORCHPORT_OUTCOME GET "${json}" outcome)
  string(JSON TORCHPORT_TORCH_DIR GET "${json}" inputs torch root)
  set(TORCHPORT_CUDA_HOME "")
  set(TORCHPORT_CUDA_ARCHS "")
  set(TORCHPORT_CMAKE_ARCHS "")
  if(TORCHPORT_OUTCOME STREQUAL "cuda")
    string(JSON TORCHPORT_CUDA_HOME GET "${json}" cuda_home)
    string(JSON TORCHPORT_CUDA_ARCHS GET "${json}" archs)
    string(JSON TORCHPORT_CMAKE_ARCHS GET "${json}" cmake_architectures)
  endif()
endmacro()

# Adds the headers and libraries of the wheel, without its CUDA part.
function(_torchport_torch_target)
  if(TARGET torchport_extension_torch)
    return()
  endif()
  set(torch "${TORCHPORT_TORCH_DIR}")
  add_library(torchport_extension_torch INTERFACE)
  target_include_directories(torchport_extension_torch SYSTEM INTERFACE
    "${torch}/include" "${torch}/include/torch/csrc/api/include" ${Python3_INCLUDE_DIRS})
  target_compile_definitions(torchport_extension_torch INTERFACE TORCH_API_INCLUDE_EXTENSION_H)
  _torchport_standard(standard)
  target_compile_features(torchport_extension_torch INTERFACE cxx_std_${standard})
  get_property(json GLOBAL PROPERTY TORCHPORT_PLAN)
  string(JSON cxx11_abi GET "${json}" inputs torch cxx11_abi)
  if(NOT cxx11_abi)
    target_compile_definitions(torchport_extension_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=0)
  endif()
  foreach(library c10 torch torch_cpu torch_python)
    target_link_libraries(torchport_extension_torch INTERFACE "${torch}/lib/lib${library}.so")
  endforeach()
endfunction()

# Finds the C++ standard of torch's headers.
function(_torchport_standard out)
  set(standard 17)
  set(config "${TORCHPORT_TORCH_DIR}/share/cmake/Torch/TorchConfig.cmake")
  if(EXISTS "${config}")
    file(STRINGS "${config}" line REGEX "CXX_STANDARD [0-9]+" LIMIT_COUNT 1)
    if(line MATCHES "CXX_STANDARD ([0-9]+)")
      set(standard ${CMAKE_MATCH_1})
    endif()
  endif()
  set(${out} ${standard} PARENT_SCOPE)
endfunction()

# Links the libraries that CUDA code needs, and adds CUDA's headers also for the C++ sources.
function(_torchport_use_cuda name)
  set(torch "${TORCHPORT_TORCH_DIR}")
  get_property(json GLOBAL PROPERTY TORCHPORT_PLAN)
  target_compile_definitions(${name} PRIVATE TORCHPORT_WITH_CUDA=1 WITH_CUDA)
  # The flags are those of torch.utils.cpp_extension: ATen defines the operators of half. The standard
  # is set by a flag, because CMake before 3.26 does not know C++20 for nvcc.
  _torchport_standard(standard)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-D__CUDA_NO_HALF_OPERATORS__
    -D__CUDA_NO_HALF_CONVERSIONS__ -D__CUDA_NO_BFLOAT16_CONVERSIONS__ -D__CUDA_NO_HALF2_OPERATORS__
    --expt-relaxed-constexpr -std=c++${standard}>)
  set(headers "${TORCHPORT_CUDA_HOME}/include")
  if(NOT EXISTS "${headers}/cusparse.h")
    string(JSON count LENGTH "${json}" inputs headers)
    foreach(index RANGE ${count})
      if(index LESS count)
        string(JSON folder GET "${json}" inputs headers ${index})
        list(APPEND headers "${folder}")
      endif()
    endforeach()
  endif()
  target_include_directories(${name} SYSTEM PRIVATE ${headers})
  set(home "${TORCHPORT_CUDA_HOME}")
  file(GLOB runtime "${home}/lib64/libcudart.so" "${home}/lib/libcudart.so"
    "${home}/lib/libcudart.so.*" "${torch}/../nvidia/*/lib/libcudart.so.*")
  if(NOT runtime)
    message(FATAL_ERROR "torchport: ${home} has no libcudart.so: set CUDA_HOME to a complete toolkit")
  endif()
  list(GET runtime 0 runtime)
  target_link_libraries(${name} PRIVATE "${torch}/lib/libc10_cuda.so" "${torch}/lib/libtorch_cuda.so"
    "${runtime}")
  set_property(TARGET ${name} PROPERTY CXX_STANDARD)
  set_property(TARGET ${name} PROPERTY CUDA_STANDARD)
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "${TORCHPORT_CMAKE_ARCHS}"
    CUDA_RUNTIME_LIBRARY None LINKER_LANGUAGE CXX)
endfunction()

# Makes the source of the extension stub: the provenance, and stubs for what the other objects call.
function(_torchport_extension_stub name module out)
  get_property(plan GLOBAL PROPERTY TORCHPORT_PLAN_FILE)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/torchport/${name}.cpp")
  set(words "")
  foreach(cuda_source IN LISTS ARG_CUDA_SOURCES)
    get_filename_component(path "${cuda_source}" ABSOLUTE)
    list(APPEND words --cuda-source "${path}")
    list(APPEND depends "${path}")
  endforeach()
  if(TARGET ${name}_host)
    list(APPEND words --object $<TARGET_OBJECTS:${name}_host>)
    list(APPEND depends ${name}_host $<TARGET_OBJECTS:${name}_host>)
  endif()
  add_custom_command(OUTPUT "${source}"
    COMMAND "${TORCHPORT_PROGRAM}" build-plan --from "${plan}" --extension-stub "${source}"
            --extension "${module}" --built-by CMake ${words}
    DEPENDS "${plan}" ${depends} COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Writing the build's provenance for ${name}")
  # Stubs only raise an error, so speed does not matter.
  set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "-O0;-g0")
  set(${out} "${source}" PARENT_SCOPE)
endfunction()

function(_torchport_add_extension name)
  cmake_parse_arguments(ARG "" "MODULE" "SOURCES;CUDA_SOURCES" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "torchport_torch_extension(${name}): unknown arguments "
      "${ARG_UNPARSED_ARGUMENTS}; use MODULE, SOURCES and CUDA_SOURCES")
  endif()
  if(NOT ARG_SOURCES AND NOT ARG_CUDA_SOURCES)
    message(FATAL_ERROR "torchport_torch_extension(${name}): SOURCES is missing")
  endif()
  if(NOT ARG_MODULE)
    set(ARG_MODULE ${name})
  endif()
  string(REGEX REPLACE ".*\\." "" file "${ARG_MODULE}")
  _torchport_torch_target()
  set(cuda OFF)
  if(TORCHPORT_OUTCOME STREQUAL "cuda" AND ARG_CUDA_SOURCES)
    set(cuda ON)
  endif()
  if(cuda OR NOT ARG_CUDA_SOURCES OR NOT ARG_SOURCES)
    add_library(${name} MODULE ${ARG_SOURCES})
    if(cuda)
      target_sources(${name} PRIVATE ${ARG_CUDA_SOURCES})
      _torchport_use_cuda(${name})
      set(ARG_CUDA_SOURCES "")
    endif()
  else()
    # Objects first: what stands in for the CUDA part depends on what they call. Whatever is said of
    # the extension's target later goes for them, too.
    add_library(${name}_host OBJECT ${ARG_SOURCES})
    foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS)
      set_property(TARGET ${name}_host PROPERTY ${property} "$<TARGET_PROPERTY:${name},${property}>")
    endforeach()
    target_link_libraries(${name}_host PRIVATE torchport_extension_torch)
    set_target_properties(${name}_host PROPERTIES POSITION_INDEPENDENT_CODE ON)
    add_library(${name} MODULE $<TARGET_OBJECTS:${name}_host>)
  endif()
  _torchport_extension_stub(${name} "${ARG_MODULE}" extension_stub)
  target_sources(${name} PRIVATE "${extension_stub}")
  target_link_libraries(${name} PRIVATE torchport_extension_torch)
  target_compile_definitions(${name} PRIVATE TORCH_EXTENSION_NAME=${file})
  # The file has no RPATH: importing torch loads torch's libraries into the process, and a path could
  # lead to another torch.
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME "${file}"
    SUFFIX ".${Python3_SOABI}${CMAKE_SHARED_MODULE_SUFFIX}" SKIP_BUILD_RPATH ON INSTALL_RPATH "")
endfunction()
