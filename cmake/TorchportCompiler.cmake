# The compiler of a checkout, where nobody chose one: clang 16 and its linker, if the machine has them. It compiles
# all of torchport in two thirds of the time of g++ 12. What others compile keeps their compiler: a source
# distribution, and the libraries that `torchport runtime build` makes.
if(TORCHPORT_PREBUILT OR TORCHPORT_RUNTIME_ONLY OR SKBUILD OR CMAKE_TOOLCHAIN_FILE
    OR DEFINED CMAKE_CXX_COMPILER OR DEFINED CMAKE_C_COMPILER OR DEFINED ENV{CXX} OR DEFINED ENV{CC})
  return()
endif()
foreach(program clang-16 clang++-16 ld.lld-16)
  string(MAKE_C_IDENTIFIER ${program} _name)
  find_program(TORCHPORT_${_name} ${program})
  mark_as_advanced(TORCHPORT_${_name})
  if(NOT TORCHPORT_${_name})
    return()
  endif()
endforeach()
set(CMAKE_C_COMPILER ${TORCHPORT_clang_16})
set(CMAKE_CXX_COMPILER ${TORCHPORT_clang___16})
foreach(_kind EXE SHARED MODULE)
  set(CMAKE_${_kind}_LINKER_FLAGS_INIT -fuse-ld=lld)
endforeach()
