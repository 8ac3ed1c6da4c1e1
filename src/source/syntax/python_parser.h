// A recursive-descent parser for Python 3. It fills a tree with the same records as tree-sitter's
// way in parse.cpp, several times faster, or refuses: then that way is taken.
//
// Its contract: a tree that it makes is the tree that tree-sitter makes, record by record, and has
// no syntax error. It may refuse anything, and does so for all that is not plain, correct Python 3:
// errors, Python 2, what the grammar reads in another way than Python does, and deep nesting (it
// recurses). So there is no recovery from errors here, and what holds for the one parser holds for
// both.
//
// Records are made in postorder: a node comes after its children and knows how many records it
// takes. So nodes that begin with another node (calls of calls, sums) need no insertion. One pass
// at the end turns the order round.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "source/syntax/python_lexer.h"
#include "source/syntax/tree.h"

namespace torchport::syntax {

class PythonParser {
 public:
  // `view` is the parser_view() of the tree's source, with a NUL byte behind its end.
  explicit PythonParser(std::string_view view) : lexer_(view) {}

  // Fills the records and comments of `tree`. If it returns false, the tree is as it was.
  [[nodiscard]] bool run(Tree& tree, const ParseLimits& limits);
  // Whether it stopped because the text has too many nodes, which no other parser changes.
  [[nodiscard]] bool is_too_large(const ParseLimits& limits) const {
    return records_.size() > limits.max_nodes;
  }
  // The offset of the token that it has come to.
  [[nodiscard]] std::uint32_t offset() const { return lexer_.start; }

 private:
  using Record = Tree::Record;  // here, subtree_end is the number of records of the node

  // Where a node begins.
  struct Mark {
    std::uint32_t index = 0;
    std::uint32_t start = 0;
  };
  // Counts how deep the parser has recursed.
  class Level {
   public:
    explicit Level(PythonParser& parser) : parser_(parser) { ++parser_.levels_; }
    ~Level() { --parser_.levels_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    [[nodiscard]] bool is_fine() const { return parser_.levels_ <= kMostLevels; }

   private:
    PythonParser& parser_;
  };
  // What has to be restored to read the same tokens again.
  struct Snapshot {
    PythonLexer lexer;
    std::size_t records;
    std::uint32_t last_end;
    std::uint32_t extra_end;
  };

  static constexpr std::uint32_t kMostLevels = 400;

  // How closely operators bind. `&` and `^` are in the order of the grammar, which is not Python's.
  enum Binding : std::uint8_t {
    kNothing,
    kOrBinding,
    kAndBinding,
    kNotBinding,
    kCompareBinding,
    kBarBinding,
    kAmpersandBinding,
    kCaretBinding,
    kShiftBinding,
    kSumBinding,
    kProductBinding,
    kUnaryBinding,
    kPowerBinding,
  };
  [[nodiscard]] static std::uint32_t binding_of(Token token);

  // --- python_parser.cpp: records --------------------------------------------------------------
  [[nodiscard]] Token token() const { return lexer_.token; }
  [[nodiscard]] bool at(Token token) const { return lexer_.token == token; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(records_.size()); }
  Mark begin() {
    if (!lexer_.extras.empty()) place_extras(lexer_.extras.size());
    return {count(), lexer_.start};
  }
  void add_leaf(Kind kind, Field field, std::uint32_t start, std::uint32_t end) {
    records_.push_back({kind, field, start, end, 0, 1});
  }
  // Moves over the token.
  void take() {
    if (!lexer_.extras.empty()) place_extras(lexer_.extras.size());
    last_end_ = lexer_.end;
    lexer_.next();
  }
  // Makes a node of the token.
  void leaf(Kind kind, Field field = Field::kNone) {
    if (!lexer_.extras.empty()) place_extras(lexer_.extras.size());
    add_leaf(kind, field, lexer_.start, lexer_.end);
    last_end_ = lexer_.end;
    lexer_.next();
  }
  bool take(Token token) {
    if (!at(token)) return false;
    take();
    return true;
  }
  bool identifier(Field field = Field::kNone) {
    if (!at(Token::kName)) return false;
    leaf(Kind::kIdentifier, field);
    return true;
  }
  // Makes a node of all records from `mark` on. It ends with the last token.
  void close(Mark mark, Kind kind, Field field = Field::kNone) {
    records_.push_back({kind, field, mark.start, last_end_, 0, count() - mark.index + 1});
  }
  void set_field(Field field) { records_.back().field = field; }
  void place_extras(std::size_t number);
  [[nodiscard]] Snapshot snapshot() const {
    return {lexer_, records_.size(), last_end_, extra_end_};
  }
  void restore(const Snapshot& snapshot);
  bool module(const ParseLimits& limits);
  bool fill(Tree& tree, const ParseLimits& limits);

  // --- python_parser_lines.cpp: blocks and simple statements
  // --------------------------------------
  bool statement();
  bool line();
  bool newline();
  bool suite(Field field);
  bool body();
  bool end_block(const Indentation& outer);
  bool simple_statement();
  bool expression_statement();
  bool soft_keyword(std::string_view word);
  Token next_token();
  bool type_alias();
  [[nodiscard]] bool is_single_target() const;
  bool assignment(Mark mark, bool has_comma);
  bool annotation(Mark mark);
  bool right_side();
  bool raise();
  bool assertion();
  bool deletion();
  bool scope_statement(Kind kind);
  bool import();
  bool import_from();
  bool import_list();
  bool dotted_name(Field field);
  bool to_patterns(std::uint32_t first);
  bool to_pattern(std::uint32_t index);
  [[nodiscard]] bool ends_statement() const {
    return at(Token::kNewline) || at(Token::kEnd) || at(Token::kSemicolon);
  }

  // --- python_parser_compound.cpp ----------------------------------------------------------------
  bool compound_statement();
  bool if_statement();
  bool else_clause(Field field);
  bool for_statement(Mark mark);
  bool while_statement();
  bool try_statement();
  bool except_clause();
  bool with_statement(Mark mark);
  bool with_items();
  bool with_items_in_brackets();
  bool as_pattern(Mark mark);
  [[nodiscard]] bool is_lonely(Mark mark) const;
  bool function(Mark mark);
  bool class_definition();
  bool decorated();
  bool parameters(bool typed);
  bool parameter(bool typed);
  bool type_parameters();
  bool type();
  bool type_operand();
  // Whether the line goes on with `token` for the statement of this block.
  [[nodiscard]] bool clause_follows(Token token) const {
    return at(token) && lexer_.indentation.columns == block_.columns &&
           lexer_.indentation.characters == block_.characters;
  }

  // --- python_parser_match.cpp ------------------------------------------------------------------
  bool match_or_expression();
  bool match_statement();
  bool case_clause();
  bool case_pattern(Field field);
  bool simple_pattern(Field field);
  bool single_pattern();
  bool wildcard();
  bool name_pattern();
  bool number_pattern();
  bool sequence_pattern(Token closing, Kind kind);
  bool mapping_pattern();

  // --- python_parser_expressions.cpp
  // ---------------------------------------------------------------
  bool expression();
  bool conditional(Mark mark);
  bool named_expression();
  bool operation(std::uint32_t least);
  bool operand(std::uint32_t least);
  bool operators(Mark mark, std::uint32_t least);
  bool comparison(Mark mark);
  bool primary();
  bool trailers(Mark mark);
  bool expression_list();
  bool expressions(bool& has_comma);
  bool lambda();
  bool yield();
  bool targets();

  // --- python_parser_atoms.cpp -------------------------------------------------------------------
  bool atom();
  bool parenthesized();
  bool list();
  bool braces();
  bool dictionary_items(Mark mark, bool begun);
  bool pair_value(Mark mark);
  bool items(Mark mark, Token closing, Kind kind);
  bool item();
  bool splat();
  bool move_star(Mark mark);
  bool arguments();
  bool argument(Mark call, bool is_first, bool& is_generator);
  [[nodiscard]] bool is_plain_splat() const;
  bool subscript();
  bool slice();
  bool comprehension(Mark mark, Token closing, Kind kind);

  // --- python_parser_strings.cpp
  // -------------------------------------------------------------------
  struct StringStyle;
  struct StringScan;
  bool strings();
  bool string();
  bool string_content(const StringStyle& style, std::uint32_t& place);
  bool string_backslash(const StringStyle& style, StringScan& scan);
  bool string_brace(const StringStyle& style, StringScan& scan, bool& is_field);
  bool escape(const StringStyle& style, std::uint32_t& place);
  bool interpolation(const StringStyle& style, std::uint32_t& place, Kind kind);
  bool format(const StringStyle& style, std::uint32_t& place);

  PythonLexer lexer_;
  std::vector<Record> records_;
  std::uint32_t last_end_ = 0;   // of the last token
  std::uint32_t extra_end_ = 0;  // of the last extra
  std::uint32_t levels_ = 0;
  std::uint32_t fields_ = 0;         // of strings that are open
  std::uint32_t raw_start_ = 0;      // where the closing part of the last raw string begins
  std::uint32_t splat_operand_ = 0;  // where the operand of the last splat() begins
  Indentation block_;
  // The bracket of a `with (...):`, in which `as` may stand.
  std::uint32_t with_bracket_ = kNowhere;
  // The word that begins the statement, if it may be a keyword whose operand the brackets after it
  // are.
  std::uint32_t soft_call_ = kNowhere;
  bool with_as_ = false;  // one stood there
  bool lost_ = false;     // found a reason to refuse where nothing is returned

  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFU;
};

}  // namespace torchport::syntax
