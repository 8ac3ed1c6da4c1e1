# find_package(torchport) -> torchport::torchport
#
#   find_package(torchport REQUIRED)          # -DCMAKE_PREFIX_PATH=/path/to/the/environment
#   target_link_libraries(app PRIVATE torchport::torchport)
#
# The torch that it links is the one of the Python environment that torchport is installed in, with
# or without a CUDA toolkit on this machine; find_package(Torch) is not needed, and does no harm.
cmake_minimum_required(VERSION 3.19)
get_filename_component(_torchport_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET torchport_torch)
  if(NOT Python3_EXECUTABLE AND EXISTS "${_torchport_prefix}/bin/python3")
    set(Python3_EXECUTABLE "${_torchport_prefix}/bin/python3")
  endif()
  include("${CMAKE_CURRENT_LIST_DIR}/TorchportTorch.cmake")
endif()
if(NOT TARGET torchport::torchport)
  add_library(torchport::torchport SHARED IMPORTED)
  set_target_properties(torchport::torchport PROPERTIES
    IMPORTED_LOCATION "${_torchport_prefix}/lib/torchport/libtorchport.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_torchport_prefix}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES torchport_torch)
endif()
file(STRINGS "${_torchport_prefix}/lib/torchport/libtorchport.so" _torchport_built
  REGEX "torchport: built for torch [^;]*" LIMIT_COUNT 1)
if(NOT _torchport_built MATCHES "built for torch ${TORCHPORT_TORCH_VERSION}")
  string(APPEND torchport_NOT_FOUND_MESSAGE
    "libtorchport.so and the torch ${TORCHPORT_TORCH_VERSION} in ${TORCHPORT_TORCH_ROOT} do not belong "
    "together: install torchport again in that environment, with --no-build-isolation")
  set(torchport_FOUND FALSE)
endif()
