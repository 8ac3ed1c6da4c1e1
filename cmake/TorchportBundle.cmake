# torchport_bundle(LIBRARY...)
#   Installs shared libraries of the distribution, given as targets or paths, beside those of
#   torchport, with their licences. Another distribution has other versions of them, and the image
#   of a container has none. Programs that link them find them by their INSTALL_RPATH.
function(torchport_bundle)
  foreach(library ${ARGN})
    if(TARGET ${library})
      get_target_property(library ${library} LOCATION)
    endif()
    file(REAL_PATH ${library} file)
    cmake_path(GET file FILENAME name)
    # Programs ask for libfmt.so.9.1.0 by the name libfmt.so.9.
    if(name MATCHES "^(lib.+)\\.so\\.([0-9]+)")
      install(FILES ${file} DESTINATION lib/torchport RENAME ${CMAKE_MATCH_0}
        PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
      file(GLOB licence /usr/share/doc/${CMAKE_MATCH_1}*${CMAKE_MATCH_2}/copyright)
      if(licence)
        list(GET licence 0 licence)
        install(FILES ${licence} DESTINATION share/licenses/torchport RENAME ${CMAKE_MATCH_1})
      endif()
    endif()
  endforeach()
endfunction()
