#include "source/project/config.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/text.h"
#include "base/toml.h"
#include "source/project/line_length.h"
#include "source/project/required_torch.h"
#include "source/rules/registry.h"
#include "versions/version.h"

namespace torchport::project {

namespace {

using base::ErrorCode;
using base::FileType;

constexpr std::array<std::string_view, 10> kKeys{
    "select",    "ignore", "extend-select", "per-file-ignores", "exclude",
    "min-torch", "idiom",  "helper",        "unsafe-fixes",     "strict"};

template <class T>
base::Result<T> bad(const std::string& path, const toml::node& node, std::string message) {
  return base::fail(ErrorCode::kConfig, std::move(message), path, node.source().begin.line);
}

base::Result<std::vector<std::string>> strings(const std::string& path, std::string_view key,
                                               const toml::node& node) {
  std::vector<std::string> result;
  const toml::array* list = node.as_array();
  if (list == nullptr)
    return bad<std::vector<std::string>>(path, node,
                                         fmt::format("\"{}\" must be a list of strings", key));
  for (const toml::node& item : *list) {
    const auto text = item.value<std::string>();
    if (!text)
      return bad<std::vector<std::string>>(path, item,
                                           fmt::format("\"{}\" must be a list of strings", key));
    result.push_back(*text);
  }
  return result;
}

base::Result<void> read_key(Config& config, const std::string& path, std::string_view key,
                            const toml::node& node) {
  const auto list_into = [&](std::vector<std::string>& target) -> base::Result<void> {
    auto list = strings(path, key, node);
    if (!list) return tl::unexpected<base::Error>(list.error());
    target = std::move(*list);
    return {};
  };
  if (key == "select" || key == "ignore" || key == "extend-select") {
    auto& target = key == "select"   ? config.select
                   : key == "ignore" ? config.ignore
                                     : config.extend_select;
    if (auto done = list_into(target); !done) return done;
    auto known = select_rules(target, {});
    if (!known) return bad<void>(path, node, known.error().message);
    return {};
  }
  if (key == "exclude") return list_into(config.exclude);
  if (key == "unsafe-fixes" || key == "strict") {
    const auto value = node.value<bool>();
    if (!value) return bad<void>(path, node, fmt::format("\"{}\" must be true or false", key));
    (key == "strict" ? config.settings.strict : config.unsafe_fixes) = *value;
    return {};
  }
  if (key == "per-file-ignores") {
    const toml::table* table = node.as_table();
    if (table == nullptr)
      return bad<void>(path, node,
                       "\"per-file-ignores\" must be a table: \"pattern\" = [\"CODE\", ...]");
    for (const auto& [pattern, codes] : *table) {
      auto list = strings(path, pattern.str(), codes);
      if (!list) return tl::unexpected<base::Error>(list.error());
      if (auto known = select_rules(*list, {}); !known)
        return bad<void>(path, codes, known.error().message);
      config.per_file_ignores.emplace_back(std::string(pattern.str()), std::move(*list));
    }
    return {};
  }
  const auto text = node.value<std::string>();
  if (!text) return bad<void>(path, node, fmt::format("\"{}\" must be a string", key));
  if (key == "min-torch") {
    const auto version = torch_version(*text);
    if (!version)
      return bad<void>(
          path, node,
          fmt::format("min-torch = \"{}\" is not a version: write it like \"2.6\"", *text));
    config.settings.min_torch = *version;
    config.settings.min_torch_stated = true;
    config.min_torch_from = fmt::format("{}:{}", path, node.source().begin.line);
  } else if (key == "idiom") {
    const auto idiom = parse_idiom(*text);
    if (!idiom)
      return bad<void>(
          path, node,
          fmt::format("idiom = \"{}\" is unknown; it is one of auto, accelerator, classic, helper",
                      *text));
    config.settings.idiom = *idiom;
  } else if (key == "helper") {
    if (!is_helper_name(*text))
      return bad<void>(
          path, node,
          fmt::format("helper = \"{}\" cannot be imported: it must be \"package.module:function\", "
                      "a module and its function by their names in Python",
                      *text));
    config.settings.helper = *text;
  }
  return {};
}

base::Result<Config> from_table(const toml::table& table, const std::string& path,
                                const std::string& root) {
  Config config;
  config.root = root;
  config.source = path;
  for (const auto& [key, node] : table) {
    if (key.str() == "profiles")
      continue;  // settings for running programs: src/runtime/place/run_profile.cpp
    if (std::find(kKeys.begin(), kKeys.end(), key.str()) == kKeys.end()) {
      return bad<Config>(
          path, node,
          fmt::format("unknown key \"{}\"{}", key.str(), base::did_you_mean(key.str(), kKeys)));
    }
    if (auto done = read_key(config, path, key.str(), node); !done)
      return tl::unexpected<base::Error>(done.error());
  }
  if (config.settings.idiom == edit::Idiom::kHelper && config.settings.helper.empty()) {
    return base::fail(ErrorCode::kConfig,
                      "idiom = \"helper\" needs helper = \"package.module:function\"", path);
  }
  return config;
}

// Returns none if the file has no table for torchport.
base::Result<std::optional<Config>> try_file(const base::FileSystem& fs, const std::string& path,
                                             bool is_pyproject) {
  auto text = fs.read(path);
  if (!text) return tl::unexpected<base::Error>(text.error());
  try {
    const toml::table table = base::parse_toml(*text, path);
    const std::string root(base::parent_path(path));
    if (!is_pyproject) {
      auto config = from_table(table, path, root);
      if (!config) return tl::unexpected<base::Error>(config.error());
      return std::optional<Config>(std::move(*config));
    }
    const toml::table* own = table["tool"]["torchport"].as_table();
    if (own == nullptr) return std::optional<Config>();
    auto config = from_table(*own, path, root);
    if (!config) return tl::unexpected<base::Error>(config.error());
    return std::optional<Config>(std::move(*config));
  } catch (const toml::parse_error& error) {
    if (is_pyproject && text->find("tool.torchport") == std::string::npos)
      return std::optional<Config>();
    return base::fail(ErrorCode::kConfig, std::string(error.description()), path,
                      error.source().begin.line);
  }
}

// Without a setting, the project's own requirement on torch decides: the project around the files,
// or the folder of the settings.
void complete(const base::FileSystem& fs, Config& config, const std::string& project) {
  for (const std::string& folder : {project, config.root})
    if (config.settings.line_length == 0) config.settings.line_length = line_length(fs, folder);
  for (const std::string& folder : {project, config.root}) {
    if (config.settings.min_torch_stated) return;
    if (auto floor = required_torch(fs, folder)) {
      config.settings.min_torch = floor->version;
      config.settings.min_torch_stated = true;
      config.min_torch_from = std::move(floor->from);
    }
  }
}

bool is_project_root(const base::FileSystem& fs, const std::string& folder) {
  static constexpr std::array<std::string_view, 6> kMarks{
      "torchport.toml", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", ".git"};
  return std::any_of(kMarks.begin(), kMarks.end(), [&](std::string_view mark) {
    return fs.status(base::join_path(folder, mark), true).type != FileType::kMissing;
  });
}

}  // namespace

base::Result<Config> load_config_file(const base::FileSystem& fs, const std::string& path) {
  auto config = try_file(fs, path, base::file_name(path) == "pyproject.toml");
  if (!config) return tl::unexpected<base::Error>(config.error());
  std::optional<Config> found = std::move(*config);
  if (!found) return base::fail(ErrorCode::kConfig, "has no [tool.torchport] table", path);
  complete(fs, *found, std::string(base::parent_path(path)));
  return std::move(*found);
}

base::Result<Config> load_config(const base::FileSystem& fs, const std::string& start) {
  std::string folder = fs.status(start, true).type == FileType::kDirectory
                           ? start
                           : std::string(base::parent_path(start));
  std::string absolute = fs.canonical(folder).value_or(folder);
  std::string project_root = folder;
  bool root_found = false;
  while (true) {
    if (!root_found && is_project_root(fs, folder)) {
      project_root = folder;
      root_found = true;
    }
    for (const std::string_view name : {"torchport.toml", "pyproject.toml"}) {
      const std::string path = base::join_path(folder, name);
      if (fs.status(path, true).type != FileType::kRegular) continue;
      auto config = try_file(fs, path, name == "pyproject.toml");
      if (!config) return tl::unexpected<base::Error>(config.error());
      std::optional<Config> found = std::move(*config);
      if (!found) continue;
      complete(fs, *found, project_root);
      return std::move(*found);
    }
    const std::string up(base::parent_path(absolute));
    if (up == absolute || up == ".") break;
    absolute = up;
    folder = up;
  }
  Config config;
  config.root = project_root;
  complete(fs, config, project_root);
  return config;
}

std::optional<edit::TorchVersion> torch_version(std::string_view text) {
  const auto numbers = versions::parse_version(text);
  if (numbers.empty()) return std::nullopt;
  const auto number = [&](std::size_t index) {
    return static_cast<std::uint16_t>(index < numbers.size() ? std::min(numbers[index], 9999) : 0);
  };
  return edit::TorchVersion{number(0), number(1)};
}

std::optional<edit::Idiom> parse_idiom(std::string_view text) {
  if (text == "auto") return edit::Idiom::kAuto;
  if (text == "accelerator") return edit::Idiom::kAccelerator;
  if (text == "classic") return edit::Idiom::kClassic;
  if (text == "helper") return edit::Idiom::kHelper;
  return std::nullopt;
}

base::Result<rules::Selection> select_rules(const std::vector<std::string>& select,
                                            const std::vector<std::string>& ignore,
                                            const std::vector<std::string>& extend, bool strict) {
  const auto names = [](const rules::Rule& rule, std::string_view written) {
    const std::string word = base::lower(written);
    return base::lower(rule.info.code).starts_with(word) || rule.info.name == word ||
           rule.info.family == word || word == "all" || (word == "hygiene" && rule.info.hygiene);
  };
  for (const auto* words : {&select, &ignore, &extend}) {
    for (const std::string& word : *words) {
      const bool known =
          !word.empty() && std::any_of(rules::all_rules().begin(), rules::all_rules().end(),
                                       [&](const rules::Rule& rule) { return names(rule, word); });
      if (!known) {
        return base::fail(ErrorCode::kConfig, rules::no_such_rule(word));
      }
    }
  }
  rules::Selection selection;
  for (const rules::Rule& rule : rules::all_rules()) {
    const auto named_by = [&](const std::vector<std::string>& words) {
      return std::any_of(words.begin(), words.end(),
                         [&](const std::string& word) { return names(rule, word); });
    };
    const bool by_default = !rule.info.hygiene && (strict || !rule.info.strict);
    const bool wanted = (select.empty() ? by_default : named_by(select)) || named_by(extend);
    if (wanted && !named_by(ignore)) selection.push_back(&rule);
  }
  return selection;
}

bool is_helper_name(std::string_view text) {
  static constexpr auto kKeywords = std::to_array<std::string_view>(
      {"False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
       "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
       "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
       "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"});
  const auto is_name = [](std::string_view word) {
    return !word.empty() && !(word.front() >= '0' && word.front() <= '9') &&
           std::all_of(word.begin(), word.end(), base::is_identifier_char) &&
           !base::one_of(kKeywords, word);
  };
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || !is_name(text.substr(colon + 1))) return false;
  const auto parts = base::split(text.substr(0, colon), '.');
  return std::all_of(parts.begin(), parts.end(), is_name);
}

}  // namespace torchport::project
