#include "source/edit/imports.h"

#include <array>

namespace torchport::edit {

namespace {

using syntax::Field;
using syntax::Kind;
using syntax::Node;

// Whether a statement such as `try: import a` or `if TYPE_CHECKING: import b` holds only imports
// and assignments.
bool holds_imports_only(const syntax::Tree& tree, Node statement) {
  if (!statement.is_any(Kind::kTry, Kind::kIf)) return false;
  for (std::uint32_t i = statement.index(); i < statement.subtree_end(); ++i) {
    const Node node = tree.at(i);
    // What a handler does: it warns, or raises another error.
    if (node.is(Kind::kExcept)) {
      i = node.subtree_end() - 1;
      continue;
    }
    if (!node.parent().is(Kind::kBlock)) continue;
    const bool harmless =
        node.is_any(Kind::kImport, Kind::kImportFrom, Kind::kPass, Kind::kComment,
                    Kind::kAssignment) ||
        (node.is(Kind::kExpressionStatement) && node.first_child().is(Kind::kAssignment));
    if (!harmless) return false;
  }
  return statement.text().find("import") != std::string_view::npos;
}

bool import_follows(Node statement) {
  for (int i = 0; i < 3 && statement; ++i) {
    statement = statement.next_sibling();
    if (statement.is_any(Kind::kImport, Kind::kImportFrom)) return true;
  }
  return false;
}

Node last_of_imports(const syntax::Tree& tree) {
  Node last;
  bool first = true;
  for (Node statement = tree.root().first_child(); statement;
       statement = statement.next_sibling()) {
    const bool docstring = first && statement.is(Kind::kExpressionStatement) &&
                           statement.first_child().is(Kind::kString);
    first = false;
    if (docstring || statement.is_any(Kind::kImport, Kind::kImportFrom, Kind::kFutureImport) ||
        holds_imports_only(tree, statement)) {
      last = statement;
      continue;
    }
    // One other statement between imports (sys.path.append, matplotlib.use) does not end the block,
    // unless it may need what stands behind the imports.
    const bool needs_device = statement.text().find("cuda") != std::string_view::npos;
    if (!statement.is(Kind::kExpressionStatement) || needs_device || !import_follows(statement))
      break;
  }
  return last;
}

// Whether a module is one of Python's own library, of those that programs with torch import.
bool is_standard(std::string_view module) {
  static constexpr auto kModules = std::to_array<std::string_view>({"abc",
                                                                    "argparse",
                                                                    "ast",
                                                                    "asyncio",
                                                                    "base64",
                                                                    "bisect",
                                                                    "collections",
                                                                    "concurrent",
                                                                    "contextlib",
                                                                    "copy",
                                                                    "csv",
                                                                    "ctypes",
                                                                    "dataclasses",
                                                                    "datetime",
                                                                    "enum",
                                                                    "errno",
                                                                    "fnmatch",
                                                                    "functools",
                                                                    "gc",
                                                                    "glob",
                                                                    "gzip",
                                                                    "hashlib",
                                                                    "heapq",
                                                                    "importlib",
                                                                    "inspect",
                                                                    "io",
                                                                    "itertools",
                                                                    "json",
                                                                    "logging",
                                                                    "math",
                                                                    "multiprocessing",
                                                                    "numbers",
                                                                    "operator",
                                                                    "os",
                                                                    "pathlib",
                                                                    "pickle",
                                                                    "platform",
                                                                    "pprint",
                                                                    "queue",
                                                                    "random",
                                                                    "re",
                                                                    "shutil",
                                                                    "signal",
                                                                    "socket",
                                                                    "string",
                                                                    "struct",
                                                                    "subprocess",
                                                                    "sys",
                                                                    "tarfile",
                                                                    "tempfile",
                                                                    "textwrap",
                                                                    "threading",
                                                                    "time",
                                                                    "timeit",
                                                                    "traceback",
                                                                    "types",
                                                                    "typing",
                                                                    "unittest",
                                                                    "urllib",
                                                                    "uuid",
                                                                    "warnings",
                                                                    "weakref",
                                                                    "zipfile"});
  return base::one_of(kModules, module.substr(0, module.find('.')));
}

// The module of `import a` or `from a import b`; "" for several, relative ones and aliases.
std::string_view module_of(Node statement) {
  if (statement.is(Kind::kImportFrom)) return statement.child(Field::kModuleName).text();
  const Node first = statement.first_child();
  const bool one = statement.is(Kind::kImport) && first.is(Kind::kDottedName);
  return one && !first.next_sibling() ? first.text() : std::string_view{};
}

}  // namespace

std::optional<NewLine> standard_import(const syntax::Tree& tree, std::string_view statement) {
  constexpr std::string_view kImport = "import ";
  if (!statement.starts_with(kImport) || !is_standard(statement.substr(kImport.size())))
    return std::nullopt;
  const Node last = last_of_imports(tree);
  Node first;     // import at the top
  Node before;    // plain import of the library's own modules that the new one follows
  Node standard;  // first import of one of them
  for (Node node = tree.root().first_child(); node && last && node.start() <= last.start();
       node = node.next_sibling()) {
    if (!node.is_any(Kind::kImport, Kind::kImportFrom) || !starts_line(node)) continue;
    if (!first) first = node;
    if (!is_standard(module_of(node))) continue;
    if (!standard) standard = node;
    if (node.is(Kind::kImport) && node.text() < statement) before = node;
  }
  if (!first) return std::nullopt;
  if (before) return NewLine{next_line(tree, before), std::string(statement)};
  if (standard) return NewLine{standard.start(), std::string(statement)};
  return NewLine{first.start(), std::string(statement) + "\n"};
}

base::Span end_of_imports(const syntax::Tree& tree) {
  const Node last = last_of_imports(tree);
  if (last) return place_after(tree, last);
  // Before the first statement, after the comments at the top (shebang, coding, license).
  const Node statement = tree.root().first_child();
  const std::uint32_t offset =
      statement ? tree.lines().line_start(tree.lines().at(statement.start()).line)
                : static_cast<std::uint32_t>(tree.source().size());
  return {offset, offset};
}

base::Span place_after(const syntax::Tree& tree, Node statement) {
  const std::uint32_t offset = next_line(tree, statement);
  const Node next = statement.next_sibling();
  const std::string_view rest =
      std::string_view(tree.source()).substr(statement.end(), offset - statement.end());
  if (next && next.start() < offset && rest.find("cuda") != std::string_view::npos)
    return {statement.end(), next.start()};
  return {offset, offset};
}

std::uint32_t next_line(const syntax::Tree& tree, Node node) {
  const std::string& text = tree.source();
  // Continues to the end of that line, past a trailing comment.
  std::size_t offset = node.end();
  while (offset < text.size() && text[offset] != '\n' && text[offset] != '\r') ++offset;
  if (offset < text.size())
    offset += text[offset] == '\r' && offset + 1 < text.size() && text[offset + 1] == '\n' ? 2 : 1;
  return static_cast<std::uint32_t>(offset);
}

bool starts_line(Node node) {
  const auto& lines = node.tree()->lines();
  return lines.line_start(lines.at(node.start()).line) == node.start();
}

bool follows_docstring(const syntax::Tree& tree, std::uint32_t offset) {
  const Node first = tree.root().first_child();
  const Node second = first.next_sibling();
  return first.is(Kind::kExpressionStatement) && first.first_child().is(Kind::kString) &&
         first.end() <= offset && (!second || second.start() >= offset);
}

std::string_view newline_of(std::string_view text) {
  const auto at = text.find_first_of("\r\n");
  if (at == std::string_view::npos || text[at] == '\n') return "\n";
  return at + 1 < text.size() && text[at + 1] == '\n' ? "\r\n" : "\r";
}

}  // namespace torchport::edit
