# Builds tree-sitter's runtime and its Python grammar from the C sources in deps/node_modules.
set(TORCHPORT_DEPS ${PROJECT_SOURCE_DIR}/deps/node_modules)
set(_core ${TORCHPORT_DEPS}/tree-sitter/vendor/tree-sitter/lib)
set(_python ${TORCHPORT_DEPS}/tree-sitter-python/src)
if(NOT EXISTS ${_core}/src/lib.c OR NOT EXISTS ${_python}/parser.c)
  message(FATAL_ERROR
    "The parser sources are missing under deps/node_modules.\n"
    "Run `make setup`, or `npm ci --ignore-scripts` in deps/.")
endif()

add_library(torchport_treesitter STATIC
  ${_core}/src/lib.c ${_python}/parser.c ${PROJECT_SOURCE_DIR}/src/source/syntax/python_scanner.c)
target_include_directories(torchport_treesitter
  SYSTEM PUBLIC ${_core}/include
  PRIVATE ${_core}/src ${_python})
target_compile_definitions(torchport_treesitter PRIVATE _DEFAULT_SOURCE _POSIX_C_SOURCE=200112L)
target_compile_options(torchport_treesitter PRIVATE -w $<$<CONFIG:Release>:-O3>)
set_target_properties(torchport_treesitter PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
if(TORCHPORT_SANITIZE MATCHES "thread|address")
  # Without UBSan: the generated scanner relies on wrap-around, which is not ours to
  # change.
  string(REGEX REPLACE ",?undefined" "" _parser_sanitize "${TORCHPORT_SANITIZE}")
  target_compile_options(torchport_treesitter PRIVATE -fsanitize=${_parser_sanitize})
endif()
