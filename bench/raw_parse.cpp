// Measures the least time that a Python checker on tree-sitter can need: reads each file that is
// named on standard input and parses it, and does nothing else. The reader and the threads are
// torchport's.
//
//   raw_parse THREADS < list-of-files
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <tree_sitter/api.h>

#include "base/file_system.h"

extern "C" const TSLanguage* tree_sitter_python(void);

int main(int argc, char** argv) {
  const int threads = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 1;
  std::vector<std::string> files;
  for (std::string line; std::getline(std::cin, line);) files.push_back(line);
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> bytes{0};
  const auto work = [&] {
    TSParser* parser = ts_parser_new();
    ts_parser_set_language(parser, tree_sitter_python());
    for (std::size_t i = next.fetch_add(1); i < files.size(); i = next.fetch_add(1)) {
      const auto text = torchport::base::real_file_system().read(files[i]);
      if (!text) continue;
      TSTree* tree = ts_parser_parse_string(parser, nullptr, text->data(),
                                            static_cast<std::uint32_t>(text->size()));
      bytes += text->size();
      ts_tree_delete(tree);
      ts_parser_reset(parser);
    }
    ts_parser_delete(parser);
  };
  std::vector<std::thread> extra;
  for (int i = 1; i < threads; ++i) extra.emplace_back(work);
  work();
  for (std::thread& thread : extra) thread.join();
  std::printf("%llu bytes\n", static_cast<unsigned long long>(bytes.load()));
  return 0;
}
