// Reads the settings of a project from [tool.torchport] in pyproject.toml or from torchport.toml.
//
// A mistyped key is an error, because a setting that is silently ignored is worse than none.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"
#include "source/edit/settings.h"
#include "source/rules/examine.h"

namespace torchport::project {

struct Config {
  std::string root = ".";  // the folder the file lies in; patterns are relative to it
  std::string source;      // the file the settings came from; empty when there is none
  std::vector<std::string>
      select;  // codes, names, families or code prefixes; empty: all about devices
  std::vector<std::string> extend_select;  // in addition to `select`, or to what is on by default
  std::vector<std::string> ignore;
  std::vector<std::pair<std::string, std::vector<std::string>>>
      per_file_ignores;  // pattern -> codes
  std::vector<std::string> exclude;
  edit::Settings settings;
  std::string min_torch_from;  // "requirements.txt:2", "--min-torch"; empty for the default
  bool unsafe_fixes = false;
};

// Looks in `start` and the folders above it for torchport.toml, then for a pyproject.toml with a
// [tool.torchport] table. Without either it returns the defaults. If min-torch is not set, the
// project's own requirement on torch decides. Without a settings file the root is the nearest
// folder upwards that looks like a project (pyproject.toml, setup.py, setup.cfg, requirements.txt,
// .git). Fails with kConfig for broken TOML, unknown keys (the message names the nearest valid one)
// and invalid values.
[[nodiscard]] base::Result<Config> load_config(const base::FileSystem& fs,
                                               const std::string& start);
// Reads the settings of one file.
[[nodiscard]] base::Result<Config> load_config_file(const base::FileSystem& fs,
                                                    const std::string& path);

// The rules that `select` or `extend` names, without those that `ignore` names. A word is a code
// (TP101), a prefix (TP1), a rule's name, a family, "hygiene" or "all". An empty `select` means all
// rules about devices; those that are only for a strict check are left out unless it is one. Fails
// with kConfig for a word that names no rule.
[[nodiscard]] base::Result<rules::Selection> select_rules(
    const std::vector<std::string>& select, const std::vector<std::string>& ignore,
    const std::vector<std::string>& extend = {}, bool strict = false);

// "2.6" or "2.6.0+cpu" -> {2, 6}.
[[nodiscard]] std::optional<edit::TorchVersion> torch_version(std::string_view text);
[[nodiscard]] std::optional<edit::Idiom> parse_idiom(std::string_view text);

// Whether a text is "package.module:function", as code can import it.
[[nodiscard]] bool is_helper_name(std::string_view text);

}  // namespace torchport::project
