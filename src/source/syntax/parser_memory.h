// Gives tree-sitter its memory: an arena for each thread, which is emptied after each parse.
//
// A parse allocates some hundred thousand small blocks that all die together. They come from
// chunks, and freed blocks are reused by size class. At the end the chunks are released at once, so
// that no finished tree has to be walked to free it.
#pragma once

#include <cstdint>

namespace torchport::syntax {

// Makes tree-sitter use the arenas. Call it before the first parser; later calls do nothing. Thread
// safe.
void use_parser_memory();

// Spans the time from the creation of a parser to the last use of its tree. Parsers, trees and
// cursors that this thread creates meanwhile need not be deleted, and must not be used afterwards.
class ParserMemory {
 public:
  ParserMemory();
  ~ParserMemory();
  ParserMemory(const ParserMemory&) = delete;
  ParserMemory& operator=(const ParserMemory&) = delete;

  // The bytes that the arena has taken for the parse. Its live blocks are never more.
  [[nodiscard]] static std::int64_t used();
};

}  // namespace torchport::syntax
