# Writes OUT: a C++ file that passes every page of PAGES to the registry.
set(content "#include \"source/rules/registry.h\"\n\nnamespace torchport::rules {\n\nconst std::vector<EmbeddedPage>& embedded_pages() {\n  static const std::vector<EmbeddedPage> kPages = {\n")
separate_arguments(PAGES)
foreach(page IN LISTS PAGES)
  file(READ ${page} text)
  file(RELATIVE_PATH name ${ROOT} ${page})
  get_filename_component(folder ${name} DIRECTORY)
  # In some compilers a raw string literal may not be longer than 64 KiB; pages are much shorter.
  string(APPEND content "      {\"${folder}\", R\"torchport_page(${text})torchport_page\"},\n")
endforeach()
string(APPEND content "  };\n  return kPages;\n}\n\n}  // namespace torchport::rules\n")
file(WRITE ${OUT} "${content}")
