// Compares the quick parser with tree-sitter on each file that is named on standard input: prints
// every file whose two trees differ, and every one without a syntax error that the quick parser
// leaves to tree-sitter. Fails if two trees differ.
//
//   compare_parsers [--time] < list-of-files
//
// With --time it measures instead: how many bytes each of the two parses in a second of the
// processor.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "source/syntax/parser_paths.h"

namespace {

namespace base = torchport::base;
namespace syntax = torchport::syntax;

int compare(const std::vector<std::string>& files, const syntax::ParseLimits& limits) {
  using Outcome = syntax::ParserComparison::Outcome;
  std::uint64_t same = 0;
  std::uint64_t refused = 0;
  std::uint64_t broken = 0;
  std::uint64_t differs = 0;
  for (const std::string& file : files) {
    const auto text = base::real_file_system().read(file);
    if (!text) continue;
    const auto comparison = syntax::compare_parsers(*text, limits);
    switch (comparison.outcome) {
      case Outcome::kSame:
        ++same;
        break;
      case Outcome::kRefused:
        ++refused;
        std::printf("refused %s:%u\n", file.c_str(), comparison.line);
        break;
      case Outcome::kBroken:
        ++broken;
        break;
      case Outcome::kDiffers:
        ++differs;
        std::printf("differs %s: %s\n", file.c_str(), comparison.difference.c_str());
        break;
    }
  }
  std::printf("%llu the same, %llu refused, %llu with syntax errors, %llu different\n",
              static_cast<unsigned long long>(same), static_cast<unsigned long long>(refused),
              static_cast<unsigned long long>(broken), static_cast<unsigned long long>(differs));
  return differs == 0 ? 0 : 1;
}

int measure(const std::vector<std::string>& files, syntax::ParseLimits limits) {
  std::vector<std::string> texts;
  std::uint64_t bytes = 0;
  for (const std::string& file : files) {
    auto text = base::real_file_system().read(file);
    if (!text) continue;
    bytes += text->size();
    texts.push_back(std::move(*text));
  }
  for (const auto paths : {syntax::ParseLimits::Paths::kQuick, syntax::ParseLimits::Paths::kGrammar,
                           syntax::ParseLimits::Paths::kBoth}) {
    limits.paths = paths;
    const std::clock_t start = std::clock();
    std::uint64_t parsed = 0;
    for (const std::string& text : texts)
      if (syntax::Tree::parse(text, limits)) ++parsed;
    const double seconds =
        static_cast<double>(std::clock() - start) / static_cast<double>(CLOCKS_PER_SEC);
    const char* name = paths == syntax::ParseLimits::Paths::kQuick     ? "quick parser"
                       : paths == syntax::ParseLimits::Paths::kGrammar ? "tree-sitter"
                                                                       : "both";
    std::printf("%-12s %7llu files %8.1f MB/s\n", name, static_cast<unsigned long long>(parsed),
                static_cast<double>(bytes) / 1e6 / seconds);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  for (std::string line; std::getline(std::cin, line);) files.push_back(line);
  syntax::ParseLimits limits;
  limits.max_milliseconds = 60'000;
  if (argc > 1 && std::string_view(argv[1]) == "--time") return measure(files, limits);
  return compare(files, limits);
}
