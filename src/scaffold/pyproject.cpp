#include <fmt/format.h>

#include "base/toml.h"
#include "scaffold/project.h"

namespace torchport::scaffold {

namespace {

std::vector<std::string> strings(const toml::node_view<const toml::node>& node) {
  std::vector<std::string> list;
  if (const toml::array* array = node.as_array())
    for (const toml::node& item : *array)
      if (const auto text = item.value<std::string>()) list.push_back(*text);
  return list;
}

void read_dependencies(const toml::table& whole, Project& project) {
  if (const toml::array* list = whole["project"]["dependencies"].as_array())
    for (const toml::node& item : *list)
      if (const auto text = item.value<std::string>())
        add_requirement(project, *text, {"pyproject.toml", item.source().begin.line});
  // Poetry: torch = "^2.1", or a table with "version".
  if (const toml::table* table = whole["tool"]["poetry"]["dependencies"].as_table()) {
    for (const auto& [key, node] : *table) {
      const toml::table* inner = node.as_table();
      const auto text =
          inner == nullptr ? node.value<std::string>() : (*inner)["version"].value<std::string>();
      if (!text) continue;
      if (key.str() == "python" && project.python.empty()) project.python = *text;
      // A version without an operator is an exact one.
      const std::string sign = !text->empty() && text->front() >= '0' && text->front() <= '9'
                                   ? "=="
                                   : (*text == "*" ? "" : std::string());
      add_requirement(project, fmt::format("{}{}{}", key.str(), sign, *text == "*" ? "" : *text),
                      {"pyproject.toml", node.source().begin.line});
    }
  }
}

}  // namespace

base::Result<void> read_pyproject(std::string_view text, Project& project) {
  toml::table whole;
  try {
    whole = base::parse_toml(text, "pyproject.toml");
  } catch (const toml::parse_error& error) {
    return base::fail(base::ErrorCode::kSyntax, std::string(error.description()), "pyproject.toml",
                      error.source().begin.line);
  }
  const toml::table& table = whole;
  for (const auto* owner : {"project", "poetry"}) {
    const auto node =
        std::string_view(owner) == "project" ? table["project"] : table["tool"]["poetry"];
    if (project.name.empty()) project.name = node["name"].value_or(std::string());
    if (project.version.empty()) project.version = node["version"].value_or(std::string());
    if (const toml::table* scripts = node["scripts"].as_table())
      for (const auto& [name, target] : *scripts) project.scripts.emplace_back(name.str());
  }
  if (project.python.empty())
    project.python = table["project"]["requires-python"].value_or(std::string());
  if (table["build-system"].is_table() || table["project"].is_table()) project.installable = true;
  project.build_requires = strings(table["build-system"]["requires"]);
  // A project that needs torch to be built has native code that uses it.
  for (const std::string& tool : project.build_requires)
    if (const auto requirement = versions::parse_requirement(tool);
        requirement && requirement->name == "torch" && !project.extension)
      project.extension =
          FileLine{"pyproject.toml", table["build-system"]["requires"].node()->source().begin.line};
  read_dependencies(table, project);
  return {};
}

}  // namespace torchport::scaffold
