// Limits the Python grammar's own scanner to the depth that it can save.
//
// Between tokens tree-sitter stores the scanner's two stacks (indentations, open strings) in
// 1024 bytes. The grammar cuts off what does not fit and continues with a different state, and
// the parser then loops or touches freed memory: 512 nested blocks or 257 nested f-strings are
// enough. So beyond a depth that CPython refuses anyway (100 indentations, 150 f-strings) this
// returns no more tokens, and the rest of the text is a syntax error.
#define tree_sitter_python_external_scanner_scan grammar_scan
#include "scanner.c"  // NOLINT(bugprone-suspicious-include): it is how the grammar is extended
#undef tree_sitter_python_external_scanner_scan

enum { kMaxIndentations = 300, kMaxOpenStrings = 200 };

bool tree_sitter_python_external_scanner_scan(void* payload, TSLexer* lexer, const bool* valid_symbols) {
  const Scanner* scanner = (const Scanner*)payload;
  if (scanner->indents.size > kMaxIndentations || scanner->delimiters.size > kMaxOpenStrings) return false;
  return grammar_scan(payload, lexer, valid_symbols);
}
