// Settings of a project: [tool.torchport] in pyproject.toml, or torchport.toml.
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
  std::string root = ".";           // the folder the file lies in; patterns are relative to it
  std::string source;               // the file the settings came from; empty when there is none
  std::vector<std::string> select;  // codes, names, families or code prefixes; empty: all
  std::vector<std::string> ignore;
  std::vector<std::pair<std::string, std::vector<std::string>>>
      per_file_ignores;  // pattern -> codes
  std::vector<std::string> exclude;
  edit::Settings settings;
  bool unsafe_fixes = false;
};

// Looks in `start` and the folders above it for torchport.toml, then for a
// pyproject.toml with a [tool.torchport] table; no file gives the defaults.
// When min-torch is not stated, the project's own torch requirement counts. With
// no settings file the root is the nearest folder upwards that looks like a
// project (pyproject.toml, setup.py, setup.cfg, requirements.txt, .git).
// Fails with kConfig on broken TOML, unknown keys (naming the nearest valid
// one) and unusable values.
[[nodiscard]] base::Result<Config> load_config(const base::FileSystem& fs,
                                               const std::string& start);
// The settings of one named file.
[[nodiscard]] base::Result<Config> load_config_file(const base::FileSystem& fs,
                                                    const std::string& path);

// Rules named by `select` minus `ignore`. Words may be a code (TP101), a
// prefix (TP1), a rule's name or a family. kConfig on a word that names nothing.
[[nodiscard]] base::Result<rules::Selection> select_rules(const std::vector<std::string>& select,
                                                          const std::vector<std::string>& ignore);

// "2.6" or "2.6.0+cpu" -> {2, 6}.
[[nodiscard]] std::optional<edit::TorchVersion> torch_version(std::string_view text);
[[nodiscard]] std::optional<edit::Idiom> parse_idiom(std::string_view text);

// The oldest torch that the project's own files ask for (requirements*.txt,
// pyproject.toml, setup.py, setup.cfg in `root`); nothing when none says.
[[nodiscard]] std::optional<edit::TorchVersion> stated_torch(const base::FileSystem& fs,
                                                             const std::string& root);

}  // namespace torchport::project
