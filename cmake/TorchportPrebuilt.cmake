# Packs what other build folders compiled, and compiles nothing: TORCHPORT_PREBUILT is a list of them, the
# first with the program, each with the libraries for one release of torch. `make wheel` builds one
# folder for each release and packs all of them into one wheel; the wheel's test packs what `make build`
# compiled, so that the test is about the files that all other tests used.
set(components package runtime)
foreach(build IN LISTS TORCHPORT_PREBUILT)
  if(NOT EXISTS ${build}/cmake_install.cmake)
    message(FATAL_ERROR "TORCHPORT_PREBUILT: ${build} is not a build folder")
  endif()
  foreach(component IN LISTS components)
    install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" --install \"${build}\"
      --component ${component} --strip --prefix \"\${CMAKE_INSTALL_PREFIX}\" OUTPUT_QUIET
      COMMAND_ERROR_IS_FATAL ANY)")
  endforeach()
  set(components runtime)
endforeach()
list(GET TORCHPORT_PREBUILT 0 build)
execute_process(COMMAND ${CMAKE_STRIP} -o ${PROJECT_BINARY_DIR}/torchport ${build}/bin/torchport
  COMMAND_ERROR_IS_FATAL ANY)
install(PROGRAMS ${PROJECT_BINARY_DIR}/torchport DESTINATION ${TORCHPORT_PROGRAM_DIR})
install(FILES ${PROJECT_SOURCE_DIR}/src/cli/torchport_virtual.pth DESTINATION ${TORCHPORT_SITE_DIR})
