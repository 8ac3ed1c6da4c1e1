# Where an installation has its files. There are three components:
#
#   package   what the Python package torchport contains for all releases of torch. Its prefix is the
#             folder that has (or gets) the package: site-packages, or python/ of a checkout.
#   runtime   the libraries of the package for one release of torch, with the same prefix.
#   program   the program, and the line of the .pth file. Its prefix is an environment.
#
# Only the program and the .pth file lie outside of the package, so that `pip install --target` and `--user` bring
# all of it. A wheel has all components; scikit-build-core installs them with one prefix.
#
# Libraries that need torch are in a folder of their own for each torch, lib/torch-2.13.0. The package
# chooses among them when it runs (python/torchport/_runtimes.py, src/cli/package.h).
include_guard()
set(TORCHPORT_PACKAGE_DIR torchport)
set(TORCHPORT_CMAKE_DIR ${TORCHPORT_PACKAGE_DIR}/lib/cmake/torchport)
# scikit-build-core's folder lives only as long as its build. A build folder keeps the name for ever.
if(SKBUILD_SCRIPTS_DIR AND EXISTS "${SKBUILD_SCRIPTS_DIR}")
  set(TORCHPORT_PROGRAM_DIR ${SKBUILD_SCRIPTS_DIR})
  set(TORCHPORT_SITE_DIR .)
else()
  set(TORCHPORT_PROGRAM_DIR bin)
  if(TORCHPORT_TORCH)
    set(TORCHPORT_SITE_DIR lib/python${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}/site-packages)
  endif()
endif()

# Everything that links torch.
add_custom_target(torchport_runtime)

# torchport_install_package(ARGS...): install(ARGS...) as a part of the package.
macro(torchport_install_package)
  install(${ARGN} COMPONENT package)
endmacro()

# torchport_install_runtime(TARGET)
#   Links a library or a program that uses torch for older systems, builds it in the folder of its torch,
#   and installs it there.
function(torchport_install_runtime target)
  set(folder lib/torch-${TORCHPORT_TORCH_RELEASE})
  # torch is usually beside the package. If it is elsewhere, it is loaded before (python/torchport), or
  # the program sets LD_LIBRARY_PATH (src/cli/package.cpp). As DT_RPATH, which comes before LD_LIBRARY_PATH,
  # so that a torchport of another environment in that variable is not mixed with this one.
  # The build folder has a link to torch at the same place (below): with one RPATH for both, the file does
  # not depend on how long the name of the build folder is.
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../../../torch/lib"
    BUILD_WITH_INSTALL_RPATH ON
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${TORCHPORT_PACKAGE_DIR}/${folder}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${TORCHPORT_PACKAGE_DIR}/${folder})
  file(CREATE_LINK ${TORCHPORT_TORCH_ROOT} ${PROJECT_BINARY_DIR}/torch SYMBOLIC)
  torchport_link_portable(${target})
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
  # torch's libraries need others (of CUDA, OpenMP), which are there when the program runs.
  target_link_options(${target} PRIVATE $<$<STREQUAL:$<TARGET_PROPERTY:${target},TYPE>,EXECUTABLE>:-Wl,--allow-shlib-undefined>)
  add_dependencies(torchport_runtime ${target})
  install(TARGETS ${target} COMPONENT runtime
    LIBRARY DESTINATION ${TORCHPORT_PACKAGE_DIR}/${folder}
    RUNTIME DESTINATION ${TORCHPORT_PACKAGE_DIR}/${folder})
endfunction()
