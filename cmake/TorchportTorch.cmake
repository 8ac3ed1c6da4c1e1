# Defines torchport_torch: libtorch_cpu and libc10 of the torch that Python imports. torch's own
# CMake package is not used, because it looks for CUDA, MKL and Python; torch is not imported,
# because that takes seconds.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
execute_process(
  COMMAND ${Python3_EXECUTABLE} -c
    "import importlib.util as u, re, pathlib\ns = u.find_spec('torch')\nr = pathlib.Path(s.origin).parent if s else None\nprint(r, re.search(r\"__version__ = '([^']*)'\", (r / 'version.py').read_text())[1]) if r else None"
  OUTPUT_VARIABLE _torch OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT _torch)
  message(FATAL_ERROR "Python has no torch: pip install torch==2.13.0, or configure with -DTORCHPORT_TORCH=OFF")
endif()
string(REGEX MATCH "^(.*) ([^ ]+)$" _ "${_torch}")
set(TORCHPORT_TORCH_ROOT ${CMAKE_MATCH_1})
set(TORCHPORT_TORCH_VERSION ${CMAKE_MATCH_2})
message(STATUS "torch ${TORCHPORT_TORCH_VERSION} in ${TORCHPORT_TORCH_ROOT}")

add_library(torchport_torch INTERFACE)
target_include_directories(torchport_torch SYSTEM INTERFACE
  ${TORCHPORT_TORCH_ROOT}/include ${TORCHPORT_TORCH_ROOT}/include/torch/csrc/api/include)
target_compile_definitions(torchport_torch INTERFACE
  TORCHPORT_TORCH_VERSION="${TORCHPORT_TORCH_VERSION}")
target_link_libraries(torchport_torch INTERFACE
  ${TORCHPORT_TORCH_ROOT}/lib/libtorch_cpu.so ${TORCHPORT_TORCH_ROOT}/lib/libc10.so)

# The paths to the torch of an environment's Python, from its lib/torchport and from its bin.
set(_torch_lib python${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}/site-packages/torch/lib)
set(TORCHPORT_TORCH_RPATH "$ORIGIN/../${_torch_lib}")
set(TORCHPORT_TORCH_RPATH_FROM_BIN "$ORIGIN/../lib/${_torch_lib}")
