# Puts the sources of the libraries that link torch into the package, lib/source: `torchport runtime
# build` compiles them for a torch that the package has no libraries for (src/runtime_build). A source
# distribution to fetch was rejected: it needs a network, and may be of another version than the package.
#
# The file KEY holds the version and a digest of all sources, "0.1.0-1a2b3c4d5e6f". What was built has
# this name, so that libraries of other sources are never loaded.
set(_source ${TORCHPORT_PACKAGE_DIR}/lib/source)
# A file that is gone must not stay: CMake compiles what it finds.
install(CODE "file(REMOVE_RECURSE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${_source}\")"
  COMPONENT package)
foreach(_layer base bindings devices host json releases runtime versions)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${_layer} DESTINATION ${_source}/src COMPONENT package
    PATTERN "*_test.cpp" EXCLUDE PATTERN new_release EXCLUDE PATTERN __pycache__ EXCLUDE)
endforeach()
torchport_install_package(DIRECTORY ${PROJECT_SOURCE_DIR}/cmake ${PROJECT_SOURCE_DIR}/include
  DESTINATION ${_source})
torchport_install_package(FILES ${PROJECT_SOURCE_DIR}/CMakeLists.txt DESTINATION ${_source})
torchport_install_package(FILES ${PROJECT_SOURCE_DIR}/src/CMakeLists.txt DESTINATION ${_source}/src)
torchport_install_package(FILES ${PROJECT_SOURCE_DIR}/python/torchport/_releases.py
  ${PROJECT_SOURCE_DIR}/python/torchport/torch_releases.json DESTINATION ${_source}/python/torchport)
install(CODE "set(TORCHPORT_VERSION ${PROJECT_VERSION})
  set(TORCHPORT_SOURCE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${_source}\")
  include(\"${CMAKE_CURRENT_LIST_DIR}/SourceKey.cmake\")" COMPONENT package)
