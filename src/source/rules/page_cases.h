// The cases of the rules' pages, for tests. In "## Cases":
//   ```python hit [count=N] [file=NAME] [min-torch=M.N]   the rule reports (N times)
//   ```python fixed                                       what `fix --unsafe-fixes --select CODE`
//   makes of the hit above
//   ```python miss [...]                                  the rule says nothing
// Other languages than python name the kind of file: dockerfile, requirements,
// cmake, toml, notebook.
#pragma once

#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "source/edit/settings.h"

namespace torchport::rules {

struct Block {
  std::string language;
  std::map<std::string, std::string, std::less<>> options;  // "hit" -> "", "count" -> "2"
  std::string code;

  [[nodiscard]] bool has(std::string_view name) const { return options.contains(name); }
  [[nodiscard]] std::string path() const {
    if (has("file")) return options.at("file");
    if (language == "dockerfile") return "Dockerfile";
    if (language == "requirements") return "requirements.txt";
    if (language == "cmake") return "CMakeLists.txt";
    if (language == "toml") return "pyproject.toml";
    return "train.py";
  }
};

inline std::vector<Block> cases_of(std::string_view page) {
  std::vector<Block> blocks;
  const auto start = page.find("## Cases");
  if (start == std::string_view::npos) return blocks;
  bool inside = false;
  for (const std::string_view line : base::split(page.substr(start), '\n')) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (!inside) continue;
      Block block;
      for (const std::string_view word : base::split(line.substr(3), ' ')) {
        const auto equals = word.find('=');
        if (block.language.empty())
          block.language = word;
        else
          block.options[std::string(word.substr(0, equals))] =
              equals == std::string_view::npos ? "" : word.substr(equals + 1);
      }
      blocks.push_back(std::move(block));
    } else if (inside) {
      blocks.back().code += std::string(line) + "\n";
    }
  }
  return blocks;
}

// The number that a text starts with; 0 if there is none.
inline std::uint16_t number_at(std::string_view text) {
  std::uint16_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

inline edit::Settings settings_of(const Block& block) {
  edit::Settings settings;
  if (block.has("min-torch")) {
    const std::string_view text = block.options.at("min-torch");
    settings.min_torch.major = number_at(text);
    settings.min_torch.minor = number_at(text.substr(text.find('.') + 1));
    settings.min_torch_stated = true;
  }
  return settings;
}

}  // namespace torchport::rules
