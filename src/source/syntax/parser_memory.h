// The memory of tree-sitter: an arena for each thread, emptied after each parse.
//
// A parse makes some hundred thousand small blocks that all die together. They come from chunks;
// freed ones are used again by their size class; what is left at the end goes at once, so that
// nobody has to walk a finished tree to free it.
#pragma once

#include <cstdint>

namespace torchport::syntax {

// Makes tree-sitter use the arenas. Once a process, before the first parser; thread-safe.
void use_parser_memory();

// The time between the making of a parser and the last look at its tree. Parsers, trees and cursors
// made on this thread meanwhile need not be deleted, and must not be used after it.
class ParserMemory {
 public:
  ParserMemory();
  ~ParserMemory();
  ParserMemory(const ParserMemory&) = delete;
  ParserMemory& operator=(const ParserMemory&) = delete;

  // Bytes that the parse holds, at its most.
  [[nodiscard]] static std::int64_t used();
};

}  // namespace torchport::syntax
