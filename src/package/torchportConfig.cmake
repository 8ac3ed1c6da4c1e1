# find_package(torchport) -> torchport::torchport
#
#   find_package(torchport REQUIRED)          # -DCMAKE_PREFIX_PATH=$(torchport --cmake-prefix)
#   target_link_libraries(app PRIVATE torchport::torchport)
#
# The torch that it links is the one beside the Python package torchport, else the one of the Python that
# CMake finds, with or without a CUDA toolkit on this machine. Set TORCHPORT_TORCH_ROOT to the folder of
# another one. find_package(Torch) is not needed, and does no harm.
#
# It brings torchport_torch_extension(), too: see Torchport.cmake.
cmake_minimum_required(VERSION 3.19)
get_filename_component(_torchport_package "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
get_filename_component(_torchport_site "${_torchport_package}" DIRECTORY)
if(NOT TARGET torchport_torch)
  if(NOT TORCHPORT_TORCH_ROOT AND EXISTS "${_torchport_site}/torch/version.py")
    set(TORCHPORT_TORCH_ROOT "${_torchport_site}/torch")
  endif()
  include("${CMAKE_CURRENT_LIST_DIR}/TorchportTorch.cmake")
endif()
include("${_torchport_package}/build/cmake/Torchport.cmake")

# The runtime for this torch, by the table that Python and the program read, too.
set(_torchport_runtime "")
file(READ "${_torchport_package}/torch_releases.json" _torchport_table)
string(JSON _torchport_rows LENGTH "${_torchport_table}" releases)
math(EXPR _torchport_rows "${_torchport_rows} - 1")
foreach(_torchport_row RANGE ${_torchport_rows})
  string(JSON _torchport_git ERROR_VARIABLE _torchport_none
    GET "${_torchport_table}" releases ${_torchport_row} runtime serves "${TORCHPORT_TORCH_RELEASE}")
  # A torch of another revision may have any version.
  if(NOT _torchport_none AND _torchport_git STREQUAL TORCHPORT_TORCH_GIT)
    string(JSON _torchport_built GET "${_torchport_table}" releases ${_torchport_row} runtime built_for)
    set(_torchport_runtime "${_torchport_package}/lib/torch-${_torchport_built}")
  endif()
endforeach()
# Else what `torchport runtime build` has compiled (src/runtime_build/choice.cpp names the folder).
if(NOT _torchport_runtime AND EXISTS "${_torchport_package}/lib/source/KEY"
    AND EXISTS "${TORCHPORT_TORCH_ROOT}/lib/libtorch_cpu.so")
  if(NOT "$ENV{TORCHPORT_CACHE_DIR}" STREQUAL "")
    set(_torchport_cache "$ENV{TORCHPORT_CACHE_DIR}/runtimes")
  elseif(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(_torchport_cache "$ENV{XDG_CACHE_HOME}/torchport/runtimes")
  else()
    set(_torchport_cache "$ENV{HOME}/.cache/torchport/runtimes")
  endif()
  file(STRINGS "${_torchport_package}/lib/source/KEY" _torchport_key LIMIT_COUNT 1)
  string(SUBSTRING "${TORCHPORT_TORCH_GIT}" 0 12 _torchport_git)
  file(SIZE "${TORCHPORT_TORCH_ROOT}/lib/libtorch_cpu.so" _torchport_size)
  string(REGEX REPLACE "[^A-Za-z0-9_.+]" "-" _torchport_version "${TORCHPORT_TORCH_VERSION}")
  set(_torchport_runtime "${_torchport_cache}/${_torchport_key}/torch-${_torchport_version}-${_torchport_git}-${_torchport_size}")
endif()
if(NOT EXISTS "${_torchport_runtime}/libtorchport.so")
  string(APPEND torchport_NOT_FOUND_MESSAGE
    "torchport has no libraries for torch ${TORCHPORT_TORCH_VERSION}, which is in ${TORCHPORT_TORCH_ROOT}. "
    "`torchport runtime list` lists the releases that it has them for, and `torchport runtime build` "
    "compiles them for this torch")
  set(torchport_FOUND FALSE)
elseif(NOT TARGET torchport::torchport)
  add_library(torchport::torchport SHARED IMPORTED)
  set_target_properties(torchport::torchport PROPERTIES
    IMPORTED_LOCATION "${_torchport_runtime}/libtorchport.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_torchport_package}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    IMPORTED_LINK_DEPENDENT_LIBRARIES "${_torchport_runtime}/libtorchport_observer.so"
    INTERFACE_LINK_LIBRARIES torchport_torch)
endif()
