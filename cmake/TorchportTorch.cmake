# Defines torchport_torch: libtorch_cpu and libc10 of the torch in TORCHPORT_TORCH_ROOT, or of the torch
# that Python would import. torch's own CMake package is not used, because it looks for CUDA, MKL and
# Python; torch is not imported, because that takes seconds.
#
# TORCHPORT_TORCH_VERSION is 2.13.0+cpu, TORCHPORT_TORCH_RELEASE is 2.13.0, and TORCHPORT_TORCH_GIT is the
# revision that it was built from.
if(NOT TORCHPORT_TORCH_ROOT)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c
      "import importlib.util as u, pathlib\ns = u.find_spec('torch')\nprint(pathlib.Path(s.origin).parent if s else '', end='')"
    # The build folder has a link to torch (TorchportInstall.cmake), and Python looks there first.
    WORKING_DIRECTORY ${CMAKE_CURRENT_LIST_DIR}
    OUTPUT_VARIABLE TORCHPORT_TORCH_ROOT)
endif()
if(NOT EXISTS "${TORCHPORT_TORCH_ROOT}/version.py")
  message(FATAL_ERROR "Python has no torch: install it into the environment of ${Python3_EXECUTABLE}, or "
    "configure with -DTORCHPORT_TORCH_ROOT=/path/to/site-packages/torch")
endif()
file(READ ${TORCHPORT_TORCH_ROOT}/version.py _torch_version)
string(REGEX MATCH "__version__ = '([^']*)'" _ "${_torch_version}")
set(TORCHPORT_TORCH_VERSION ${CMAKE_MATCH_1})
string(REGEX MATCH "git_version = '([^']*)'" _ "${_torch_version}")
set(TORCHPORT_TORCH_GIT ${CMAKE_MATCH_1})
string(REGEX REPLACE "[+].*" "" TORCHPORT_TORCH_RELEASE "${TORCHPORT_TORCH_VERSION}")
message(STATUS "torch ${TORCHPORT_TORCH_VERSION} in ${TORCHPORT_TORCH_ROOT}")

add_library(torchport_torch INTERFACE)
target_include_directories(torchport_torch SYSTEM INTERFACE
  ${TORCHPORT_TORCH_ROOT}/include ${TORCHPORT_TORCH_ROOT}/include/torch/csrc/api/include)
target_link_libraries(torchport_torch INTERFACE
  ${TORCHPORT_TORCH_ROOT}/lib/libtorch_cpu.so ${TORCHPORT_TORCH_ROOT}/lib/libc10.so)
