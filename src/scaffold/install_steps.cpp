#include "scaffold/install_steps.h"

#include <algorithm>

#include <fmt/format.h>

#include "releases/published.h"
#include "scaffold/shell.h"

namespace torchport::scaffold {

namespace {

bool holds(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

std::string torch_command(const Target& target) {
  const std::string arguments = releases::pip_arguments(target.torch, target.variant);
  const auto rest = arguments.find(' ');
  // The first of the family is torch itself, which has its own form for this version.
  const std::vector<std::string> others(target.family.begin() + 1, target.family.end());
  return fmt::format("pip install {}{}{}{}", arguments.substr(0, rest), others.empty() ? "" : " ",
                     shell_words(others), arguments.substr(rest));
}

bool leaves_versions_open(const Target& target) {
  return std::any_of(target.family.begin(), target.family.end(),
                     [](const std::string& name) { return name.find("==") == std::string::npos; });
}

std::vector<std::string> requirement_commands(const Project& project,
                                              const std::vector<std::string>& asked) {
  const auto& files = project.requirement_files;
  if (files.empty()) return {};
  std::vector<std::string> commands;
  const bool family = std::any_of(
      project.requirements.begin(), project.requirements.end(),
      [&](const Requirement& requirement) { return holds(files, requirement.at.file); });
  if (family)
    commands.push_back(fmt::format(
        "sed -i -E '/^[[:space:]]*(torch|torchvision|torchaudio)([^A-Za-z0-9._-]|$)/Id; "
        "/download\\.pytorch\\.org/d' {}",
        shell_words(files)));
  std::string options;
  for (const std::string& file : files)
    if (asked.empty() ? file == files.front() : holds(asked, file)) options += " -r " + file;
  commands.push_back("pip install" + options);
  return commands;
}

std::vector<std::string> build_tools(const Project& project, bool has_torchport) {
  std::vector<std::string> tools{"ninja"};
  for (const std::string& tool : project.build_requires) {
    const auto requirement = versions::parse_requirement(tool);
    if (requirement &&
        (is_torch_family(requirement->name) || (has_torchport && requirement->name == "torchport")))
      continue;
    tools.push_back(tool);
  }
  return tools;
}

std::string build_check(const Target& target) {
  return fmt::format(
      "python -c \"import importlib.metadata as m; v = m.version('torch'); "
      "assert v.endswith('+{}'), v\"",
      target.variant);
}

}  // namespace torchport::scaffold
