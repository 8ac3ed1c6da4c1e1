// Parses bytes into the flat tree: by the quick parser, or else by one run of tree-sitter and one
// walk of its cursor.
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <tree_sitter/api.h>

#include "base/bytes.h"
#include "base/thread_clock.h"
#include "source/syntax/encoding.h"
#include "source/syntax/indentation.h"
#include "source/syntax/logical_line.h"
#include "source/syntax/parser_memory.h"
#include "source/syntax/python_parser.h"
#include "source/syntax/second_view.h"
#include "source/syntax/tree.h"

extern "C" const TSLanguage* tree_sitter_python(void);

namespace torchport::syntax {

namespace {

struct Vocabulary {
  std::vector<Kind> kinds;    // by TSSymbol
  std::vector<Field> fields;  // by TSFieldId
};

const Vocabulary& vocabulary() {
  static const Vocabulary kVocabulary = [] {
    Vocabulary words;
    const TSLanguage* language = tree_sitter_python();
    words.kinds.assign(ts_language_symbol_count(language), Kind::kOther);
    for (std::uint32_t symbol = 0; symbol < words.kinds.size(); ++symbol) {
      if (ts_language_symbol_type(language, static_cast<TSSymbol>(symbol)) != TSSymbolTypeRegular)
        continue;
      const std::string_view name =
          ts_language_symbol_name(language, static_cast<TSSymbol>(symbol));
#define TORCHPORT_MATCH(kind, text) \
  if (name == (text)) words.kinds[symbol] = Kind::kind;
      TORCHPORT_KINDS(TORCHPORT_MATCH)
#undef TORCHPORT_MATCH
    }
    words.fields.assign(ts_language_field_count(language) + 1, Field::kNone);
    for (std::uint32_t id = 1; id < words.fields.size(); ++id) {
      const std::string_view name =
          ts_language_field_name_for_id(language, static_cast<TSFieldId>(id));
#define TORCHPORT_MATCH(field, text) \
  if (name == (text)) words.fields[id] = Field::field;
      TORCHPORT_FIELDS(TORCHPORT_MATCH)
#undef TORCHPORT_MATCH
    }
    return words;
  }();
  return kVocabulary;
}

using Clock = base::ThreadClock;

// What tree-sitter reads. A source comes in pieces, because tree-sitter asks for its progress only
// between tokens, and one token may be the whole source (a million continued lines). After the
// deadline the source is at its end, and the tree is worthless.
struct ViewInput {
  static constexpr std::size_t kPiece = std::size_t{64} << 10U;

  std::string_view text;
  Clock::time_point deadline;
  bool is_late = false;

  static const char* read(void* payload, std::uint32_t byte, TSPoint, std::uint32_t* bytes_read) {
    auto& input = *static_cast<ViewInput*>(payload);
    input.is_late = input.is_late || Clock::now() > input.deadline;
    if (input.is_late || byte >= input.text.size()) {
      *bytes_read = 0;
      return "";
    }
    *bytes_read = static_cast<std::uint32_t>(std::min(kPiece, input.text.size() - byte));
    return input.text.data() + byte;
  }
};

}  // namespace

std::string_view kind_name(Kind kind) {
  switch (kind) {
#define TORCHPORT_MATCH(name, text) \
  case Kind::name:                  \
    return text;
    TORCHPORT_KINDS(TORCHPORT_MATCH)
#undef TORCHPORT_MATCH
    default:
      return "other";
  }
}

class TreeBuilder {
 public:
  // `view` is what the parser read; it differs from the source where second_view() rewrote it.
  TreeBuilder(Tree& tree, std::string_view view) : tree_(tree), view_(view) {}

  // Walks the cursor in preorder. Parents are on an explicit stack; anonymous nodes are dropped
  // unless they are operators.
  enum class Outcome : std::uint8_t { kDone, kLate, kDeep, kLarge };
  Outcome copy(TSNode root, Clock::time_point deadline, const ParseLimits& limits) {
    TSTreeCursor cursor = ts_tree_cursor_new(root);
    Outcome outcome = Outcome::kDone;
    std::uint32_t seen = 0;
    std::uint64_t total_depth = 0;
    while (true) {
      if ((++seen & 0xFFFFU) == 0 && Clock::now() > deadline) {
        outcome = Outcome::kLate;
        break;
      }
      total_depth += stack_.size();
      if (stack_.size() > limits.max_depth || total_depth > limits.max_total_depth) {
        outcome = Outcome::kDeep;
        break;
      }
      if (tree_.records_.size() > limits.max_nodes) {
        outcome = Outcome::kLarge;
        break;
      }
      enter(cursor);
      if (ts_tree_cursor_goto_first_child(&cursor)) continue;
      leave();
      bool done = false;
      while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
        if (!ts_tree_cursor_goto_parent(&cursor)) {
          done = true;
          break;
        }
        leave();
      }
      if (done) break;
    }
    return outcome;
  }

 private:
  static constexpr std::uint32_t kDropped = std::numeric_limits<std::uint32_t>::max();

  void enter(const TSTreeCursor& cursor) {
    const TSNode node = ts_tree_cursor_current_node(&cursor);
    const Vocabulary& words = vocabulary();
    const TSSymbol symbol = ts_node_symbol(node);
    const bool error_symbol = symbol == std::numeric_limits<TSSymbol>::max();
    const Field field = words.fields[ts_tree_cursor_current_field_id(&cursor)];
    const bool named = error_symbol || ts_node_is_named(node);
    const bool kept = named || field == Field::kOperator || field == Field::kOperators;
    const std::uint32_t start = ts_node_start_byte(node);
    const bool missing = ts_node_is_missing(node);
    Kind kind = error_symbol ? Kind::kError : named ? words.kinds[symbol] : Kind::kOther;
    // `print >> file, text` is an expression for Python 3, too, but nobody means that.
    if (error_symbol || missing || kind == Kind::kPrint || kind == Kind::kExec) note_error(start);
    const bool rewritten_star =
        start < view_.size() && view_[start] == '+' && tree_.source_[start] == '*';
    if (rewritten_star && kind == Kind::kUnaryOperator) kind = Kind::kListSplat;
    if (!kept || (rewritten_star && field == Field::kOperator)) {
      stack_.push_back(kDropped);
      return;
    }
    const auto index = static_cast<std::uint32_t>(tree_.records_.size());
    // If the text is damaged from end to end, tree-sitter's root is an error node; it counts as the
    // module.
    tree_.records_.push_back({index == 0 ? Kind::kModule : kind, field, start,
                              ts_node_end_byte(node), parent_, index + 1});
    if (kind == Kind::kComment) tree_.comments_.emplace_back(&tree_, index);
    stack_.push_back(index);
    parent_ = index;
  }

  void leave() {
    const std::uint32_t index = stack_.back();
    stack_.pop_back();
    if (index == kDropped) return;
    tree_.records_[index].subtree_end = static_cast<std::uint32_t>(tree_.records_.size());
    parent_ = tree_.records_[index].parent;
  }

  void note_error(std::uint32_t offset) {
    if (tree_.has_error_) return;
    tree_.has_error_ = true;
    tree_.error_offset_ = offset;
  }

  Tree& tree_;
  std::string_view view_;
  std::vector<std::uint32_t> stack_;
  std::uint32_t parent_ = 0;
};

namespace {

tl::unexpected<base::Error> too_large(const ParseLimits& limits) {
  return base::fail(base::ErrorCode::kBudget,
                    fmt::format("has more than {} names, numbers and the like", limits.max_nodes));
}

}  // namespace

// Parses one view of a source.
class TreeParse {
 public:
  explicit TreeParse(const ParseLimits& limits)
      : limits_(limits),
        budget_{Clock::now() + std::chrono::milliseconds(limits.max_milliseconds),
                static_cast<std::int64_t>(limits.max_parser_bytes), false} {}

  // Fills the tree from what the parser reads of its source. Fails with kBudget.
  base::Result<void> run(Tree& tree, std::string_view view) {
    // Releases the parser and its tree at the end.
    const ParserMemory memory;
    TSParser* parser = ts_parser_new();
    if (!ts_parser_set_language(parser, tree_sitter_python())) {
      return base::fail(base::ErrorCode::kInternal,
                        "the Python grammar does not fit the parser library");
    }
    ViewInput input{view, budget_.deadline};
    TSInput reader{};
    reader.payload = &input;
    reader.read = &ViewInput::read;
    reader.encoding = TSInputEncodingUTF8;
    TSParseOptions options{};
    options.payload = &budget_;
    options.progress_callback = &exceeded;
    const TSTree* parsed = ts_parser_parse_with_options(parser, nullptr, reader, options);
    if (parsed == nullptr) ts_parser_reset(parser);  // the grammar's scanner has memory of its own
    if (parsed == nullptr || input.is_late) return give_up();
    clear(tree);
    TreeBuilder builder(tree, view);
    switch (builder.copy(ts_tree_root_node(parsed), budget_.deadline, limits_)) {
      case TreeBuilder::Outcome::kDone:
        break;
      case TreeBuilder::Outcome::kLate:
        return give_up();
      case TreeBuilder::Outcome::kDeep:
        return base::fail(base::ErrorCode::kBudget,
                          "nested too deeply; Python itself refuses such a file");
      case TreeBuilder::Outcome::kLarge:
        return too_large(limits_);
    }
    if (tree.has_error_) return {};
    auto offset = misplaced_statement(tree, limits_.indented_cells);
    if (!offset) offset = broken_logical_line(tree);
    if (offset) {
      tree.has_error_ = true;
      tree.error_offset_ = *offset;
    }
    return {};
  }

  // A tree of the source without records.
  static std::shared_ptr<Tree> empty(std::string source) {
    std::shared_ptr<Tree> tree(new Tree());
    tree->source_ = std::move(source);
    tree->lines_ = std::make_unique<base::LineIndex>(tree->source_);
    return tree;
  }

 private:
  static void clear(Tree& tree) {
    tree.records_.clear();
    tree.records_.reserve(tree.source_.size() / 5 + 16);
    tree.comments_.clear();
    tree.has_error_ = false;
    tree.error_offset_ = 0;
  }

  [[nodiscard]] tl::unexpected<base::Error> give_up() const {
    return budget_.too_large
               ? base::fail(base::ErrorCode::kBudget,
                            fmt::format("parsing it takes more than {}",
                                        base::format_bytes(limits_.max_parser_bytes, 0)))
               : base::fail(base::ErrorCode::kBudget,
                            fmt::format("not parsed within {} ms of processor time",
                                        limits_.max_milliseconds));
  }

  struct Budget {
    Clock::time_point deadline;
    std::int64_t max_bytes = 0;
    bool too_large = false;
  };

  static bool exceeded(TSParseState* state) {
    auto* budget = static_cast<Budget*>(state->payload);
    budget->too_large = ParserMemory::used() > budget->max_bytes;
    return budget->too_large || Clock::now() > budget->deadline;
  }

  const ParseLimits& limits_;
  Budget budget_;
};

base::Result<std::shared_ptr<const Tree>> Tree::parse(std::string source,
                                                      const ParseLimits& limits) {
  if (source.size() > limits.max_bytes) {
    return base::fail(base::ErrorCode::kBudget,
                      fmt::format("larger than {}", base::format_bytes(limits.max_bytes, 0)));
  }
  const auto view = parser_view(source);
  if (!view) return tl::unexpected<base::Error>(view.error());
  auto tree = TreeParse::empty(std::move(source));
  if (limits.paths != ParseLimits::Paths::kGrammar) {
    PythonParser quick(*view);
    if (quick.run(*tree, limits)) return std::shared_ptr<const Tree>(std::move(tree));
    if (quick.is_too_large(limits)) return too_large(limits);
    if (limits.paths == ParseLimits::Paths::kQuick) {
      return base::fail(base::ErrorCode::kSyntax, "not for the quick parser", {},
                        tree->lines().at(quick.offset()).line);
    }
  }
  TreeParse parse(limits);
  if (auto done = parse.run(*tree, *view); !done) return tl::unexpected<base::Error>(done.error());
  if (!tree->has_error_) return std::shared_ptr<const Tree>(std::move(tree));
  if (const auto other = second_view(*view)) {
    auto second = TreeParse::empty(tree->source_);
    // If it has an error, too, the place of the first one is the truer one.
    if (parse.run(*second, *other) && !second->has_error_)
      return std::shared_ptr<const Tree>(std::move(second));
  }
  return std::shared_ptr<const Tree>(std::move(tree));
}

}  // namespace torchport::syntax
