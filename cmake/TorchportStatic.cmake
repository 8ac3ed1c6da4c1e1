# Libraries of the distribution. They are linked statically where they can be, because what is
# installed also runs on other distributions and in images of containers, which have other versions
# of them or none.
find_package(fmt REQUIRED)
find_library(TORCHPORT_STATIC_XXHASH NAMES libxxhash.a xxhash REQUIRED)
find_library(TORCHPORT_STATIC_MINIZIP NAMES libminizip.a minizip REQUIRED)
find_library(TORCHPORT_STATIC_ZLIB NAMES libz.a z REQUIRED)
if(NOT TORCHPORT_RUNTIME_ONLY)
  find_library(TORCHPORT_STATIC_SQLITE NAMES libsqlite3.a sqlite3 REQUIRED)
endif()

# Debian has fmt only as a shared library, so it is compiled from its headers. fmt's own header-only
# target would compile it once for each of our files.
get_target_property(_type fmt::fmt TYPE)
if(_type STREQUAL SHARED_LIBRARY AND fmt_VERSION VERSION_LESS 10)
  add_library(torchport_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt_library.cpp)
  target_compile_features(torchport_fmt PUBLIC cxx_std_20)
  target_compile_definitions(torchport_fmt
    PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
  target_include_directories(torchport_fmt
    SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
else()
  add_library(torchport_fmt INTERFACE)
  target_link_libraries(torchport_fmt INTERFACE fmt::fmt)
endif()

# Their licences ask to be passed on with the program.
foreach(_package libboost-context-dev libcli11-dev libdtl-dev libexpected-dev libfmt-dev libminizip-dev libsqlite3-dev
    libtomlplusplus-dev libxxhash-dev nlohmann-json3-dev zlib1g-dev)
  if(EXISTS /usr/share/doc/${_package}/copyright)
    string(REGEX REPLACE "-dev$" "" _name ${_package})
    torchport_install_package(FILES /usr/share/doc/${_package}/copyright
      DESTINATION ${TORCHPORT_PACKAGE_DIR}/licenses RENAME ${_name})
  endif()
endforeach()
torchport_install_package(FILES ${PROJECT_SOURCE_DIR}/deps/node_modules/tree-sitter/LICENSE
  DESTINATION ${TORCHPORT_PACKAGE_DIR}/licenses RENAME tree-sitter)
