#include "source/project/required_torch.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "base/toml.h"
#include "source/project/config.h"
#include "source/semantics/semantic_model.h"
#include "versions/requirement.h"

namespace torchport::project {

namespace {

using semantics::Kind;
using semantics::Node;

// Real requirements are shorter. Without a bound, a line of a million requirements takes time
// proportional to the square of its length.
constexpr std::size_t kLongestRequirement = 400;
constexpr std::size_t kMostFiles = 16;
constexpr int kMostNames = 4;  // that are followed from install_requires to a list

class Floor {
 public:
  // Takes one requirement, as pip reads it.
  void require(std::string_view text, const std::string& path, std::uint32_t line) {
    text = base::trim(text.substr(0, kLongestRequirement));
    const std::string_view marker = text.substr(std::min(text.find(';'), text.size()));
    if (marker.find("extra") != std::string_view::npos) return;
    const auto requirement = versions::parse_requirement(text);
    if (!requirement || requirement->name != "torch") return;
    const auto version = torch_version(versions::lower_bound(requirement->specifier));
    if (!version || (lowest_ && lowest_->version <= *version)) return;
    lowest_ = TorchFloor{*version, fmt::format("{}:{}", path, line)};
  }

  [[nodiscard]] std::optional<TorchFloor> lowest() && { return std::move(lowest_); }

 private:
  std::optional<TorchFloor> lowest_;
};

bool is_for_developers(std::string_view path) {
  const std::string name = base::lower(base::file_name(path));
  for (const std::string_view word : {"dev", "test", "doc", "lint", "optional", "extra"})
    if (name.find(word) != std::string::npos) return true;
  return false;
}

void read_requirements(const base::FileSystem& fs, const std::string& path, Floor& floor,
                       std::set<std::string>& seen) {
  if (seen.size() >= kMostFiles || !seen.insert(path).second) return;
  const auto text = fs.read(path);
  if (!text) return;
  std::uint32_t number = 0;
  for (const std::string_view line : base::split(*text, '\n')) {
    ++number;
    std::string_view bare = base::trim(line);
    if (bare.starts_with('#')) continue;
    bare = base::trim(bare.substr(0, bare.find(" #")));
    for (const std::string_view option : {"-r ", "--requirement ", "--requirement="}) {
      if (!bare.starts_with(option)) continue;
      const std::string included(base::trim(bare.substr(option.size())));
      if (!is_for_developers(included))
        read_requirements(fs, base::join_path(base::parent_path(path), included), floor, seen);
    }
    // pip-compile adds the options of a requirement behind a blank.
    floor.require(bare.substr(0, bare.find(" --")), path, number);
  }
}

void read_pyproject(std::string_view text, const std::string& path, Floor& floor) {
  toml::table whole;
  try {
    whole = base::parse_toml(text, path);
  } catch (const toml::parse_error&) {
    return;
  }
  const toml::table& table = whole;
  if (const toml::array* list = table["project"]["dependencies"].as_array()) {
    for (const toml::node& item : *list)
      if (const auto requirement = item.value<std::string>())
        floor.require(*requirement, path, item.source().begin.line);
  }
  const auto poetry = table["tool"]["poetry"]["dependencies"]["torch"];
  const toml::node* node = poetry.node();
  if (node == nullptr) return;
  const toml::table* inner = node->as_table();
  if (inner != nullptr && (*inner)["optional"].value_or(false)) return;
  std::string version = inner == nullptr ? node->value_or(std::string())
                                         : (*inner)["version"].value_or(std::string());
  // Poetry takes a bare version for an exact one.
  if (!version.empty() && version.front() >= '0' && version.front() <= '9')
    version = "==" + version;
  floor.require("torch" + version, path, node->source().begin.line);
}

void read_setup_cfg(std::string_view text, const std::string& path, Floor& floor) {
  bool in_options = false;
  bool in_requires = false;
  std::uint32_t number = 0;
  for (const std::string_view line : base::split(text, '\n')) {
    ++number;
    std::string_view bare = base::trim(line);
    if (bare.empty() || bare.front() == '#' || bare.front() == ';') continue;
    if (bare.front() == '[') {
      in_options = bare == "[options]";
      in_requires = false;
      continue;
    }
    // An indented line continues the value of the line above.
    if (line.front() != ' ' && line.front() != '\t') {
      const auto equals = std::min(bare.find('='), bare.size());
      in_requires = in_options && base::trim(bare.substr(0, equals)) == "install_requires";
      bare = base::trim(bare.substr(std::min(equals + 1, bare.size())));
    }
    if (in_requires) floor.require(bare.substr(0, bare.find(" #")), path, number);
  }
}

// The strings of a list of requirements, through names that are assigned once.
void read_list(const semantics::SemanticModel& model, Node list, const std::string& path, int names,
               Floor& floor) {
  for (std::uint32_t i = list.index(); i < list.subtree_end(); ++i) {
    const Node node = model.tree().at(i);
    std::string value;
    if (node.is(Kind::kString) && syntax::string_value(node, value)) {
      floor.require(value, path, model.tree().lines().at(node.start()).line);
    } else if (node.is(Kind::kIdentifier) && names < kMostNames &&
               (node == list ||
                node.parent().is_any(Kind::kList, Kind::kBinaryOperator, Kind::kListSplat))) {
      const auto bindings = model.scopes().reaching(node.text(), node);
      if (bindings.size() == 1 && bindings.front()->kind == semantics::BindingKind::kAssign &&
          bindings.front()->value)
        read_list(model, bindings.front()->value, path, names + 1, floor);
    }
  }
}

void read_setup_py(std::string text, const std::string& path, Floor& floor) {
  const auto tree = syntax::Tree::parse(std::move(text));
  if (!tree) return;
  const semantics::SemanticModel model(*tree);
  for (const Node call : model.nodes(Kind::kCall)) {
    const std::string_view callee = syntax::callee(call).text();
    if (callee != "setup" && !callee.ends_with(".setup")) continue;
    if (const Node list = syntax::keyword(call, "install_requires"))
      read_list(model, syntax::unwrap(list), path, 0, floor);
  }
}

}  // namespace

std::optional<TorchFloor> required_torch(const base::FileSystem& fs, const std::string& root) {
  Floor floor;
  std::set<std::string> seen;
  for (const std::string_view name : {"requirements.txt", "requirements.in"})
    read_requirements(fs, base::join_path(root, name), floor, seen);
  const auto with = [&](std::string_view name, const auto& read) {
    const std::string path = base::join_path(root, name);
    if (fs.status(path, true).type != base::FileType::kRegular) return;
    if (auto text = fs.read(path)) read(std::move(*text), path, floor);
  };
  with("pyproject.toml", read_pyproject);
  with("setup.cfg", read_setup_cfg);
  with("setup.py", read_setup_py);
  return std::move(floor).lowest();
}

std::optional<TorchFloor> installed_torch(const base::FileSystem& fs,
                                          const std::vector<std::string>& sites) {
  constexpr std::string_view kBegin = "__version__ = '";
  for (const std::string& site : sites) {
    const auto text = fs.read(base::join_path(site, "torch/version.py"));
    if (!text) continue;
    const auto at = text->find(kBegin);
    if (at == std::string::npos) continue;
    const std::string_view rest = std::string_view(*text).substr(at + kBegin.size());
    const auto end = rest.find('\'');
    if (end == std::string_view::npos) continue;
    const std::string_view version = rest.substr(0, end);
    if (const auto known = torch_version(version))
      return TorchFloor{
          *known,
          fmt::format("torch {} is installed in {}; `min-torch` says otherwise", version, site)};
  }
  return std::nullopt;
}

}  // namespace torchport::project
