// Reads setup.py and setup.cfg without running them.
#include <fmt/format.h>

#include "base/text.h"
#include "scaffold/project.h"
#include "source/semantics/semantic_model.h"

namespace torchport::scaffold {

namespace {

using semantics::Kind;
using semantics::Node;

std::string dotless(std::string_view name) {
  const auto dot = name.rfind('.');
  return std::string(dot == std::string_view::npos ? name : name.substr(dot + 1));
}

// Reads setup(name="x", version="1", python_requires=">=3.8", entry_points={"console_scripts":
// ["a=b"]}).
void read_call(const semantics::SemanticModel& model, Node call, Project& project) {
  const auto take = [&](const char* keyword, std::string& value) {
    const Node given = syntax::keyword(call, keyword);
    if (!given || !value.empty()) return;
    if (const auto text = model.constant_string(given)) value = *text;
  };
  take("name", project.name);
  take("version", project.version);
  take("python_requires", project.python);
  const Node points = syntax::keyword(call, "entry_points");
  if (!points || !project.scripts.empty()) return;
  bool console = false;
  for (const Node string : model.nodes(Kind::kString, points)) {
    std::string text;
    if (!syntax::string_value(string, text)) continue;
    if (text.find('=') == std::string::npos)
      console = text == "console_scripts";
    else if (console)
      project.scripts.emplace_back(base::trim(std::string_view(text).substr(0, text.find('='))));
  }
}

// Finds extensions by their class, under any name that it was imported by.
void read_extensions(const semantics::SemanticModel& model, Project& project) {
  for (const Node call : model.nodes(Kind::kCall)) {
    const std::string& called = model.called(call);
    const std::string name = dotless(called);
    const bool cuda = name == "CUDAExtension";
    if (!cuda && name != "CppExtension") continue;
    if (called.find("cpp_extension") == std::string::npos) continue;
    const FileLine place{"setup.py", model.tree().lines().at(call.start()).line};
    if (!project.extension) project.extension = place;
    if (cuda && !project.cuda) project.cuda = place;
  }
  for (const Node call : model.nodes(Kind::kCall)) {
    if (model.called(call) != "torchport.build.extension") continue;
    const FileLine place{"setup.py", model.tree().lines().at(call.start()).line};
    if (!project.extension) project.extension = place;
    for (const Node string : model.nodes(Kind::kString, call)) {
      std::string source;
      if (!project.cuda && syntax::string_value(string, source) && source.ends_with(".cu"))
        project.cuda = place;
    }
  }
  // extension = CUDAExtension if ... else CppExtension
  for (const Node name : model.named("CUDAExtension")) {
    const Node statement = syntax::statement_of(name);
    if (project.cuda || statement.is_any(Kind::kImport, Kind::kImportFrom)) continue;
    project.cuda = FileLine{"setup.py", model.tree().lines().at(name.start()).line};
    if (!project.extension) project.extension = project.cuda;
  }
}

// Adds the requirements among the strings of a list of requirements. There also a word alone is
// one.
void add_listed(const semantics::SemanticModel& model, Node range, Project& project) {
  for (const Node string : model.nodes(Kind::kString, range)) {
    std::string value;
    if (!syntax::string_value(string, value)) continue;
    const auto requirement = versions::parse_requirement(value);
    // The others are found wherever they stand.
    if (requirement && requirement->specifier.empty())
      add_requirement(project, value, {"setup.py", model.tree().lines().at(string.start()).line});
  }
}

// Reads setup(install_requires=["torch"]), and setup(install_requires=NAME) with what the file does
// with NAME: NAME = ["torch"], NAME += ["torch"], NAME.append("torch").
void read_required(const semantics::SemanticModel& model, Node call, Project& project) {
  for (const char* keyword : {"install_requires", "setup_requires"}) {
    const Node given = syntax::keyword(call, keyword);
    if (!given) continue;
    add_listed(model, given, project);
    if (!given.is(Kind::kIdentifier)) continue;
    for (const Node name : model.named(given.text())) {
      const Node statement = syntax::statement_of(name);
      if (statement.start() <= call.start() && call.start() < statement.end()) continue;
      add_listed(model, statement, project);
    }
  }
}

}  // namespace

void read_setup_py(const std::string& text, Project& project) {
  project.installable = true;
  auto tree = syntax::Tree::parse(text);
  if (!tree) {
    project.doubts.push_back(fmt::format("setup.py cannot be read ({})", tree.error().message));
    return;
  }
  const semantics::SemanticModel model(*tree);
  for (const Node call : model.nodes(Kind::kCall))
    if (const std::string& called = model.called(call); called == "setuptools.setup" ||
                                                        called == "distutils.core.setup" ||
                                                        called == "skbuild.setup") {
      read_call(model, call, project);
      read_required(model, call, project);
    }
  read_extensions(model, project);
  for (const Node string : model.nodes(Kind::kString)) {
    std::string value;
    if (!syntax::string_value(string, value)) continue;
    const auto requirement = versions::parse_requirement(value);
    // A single word may be anything: a package's folder, a message.
    if (requirement && !requirement->specifier.empty())
      add_requirement(project, value, {"setup.py", model.tree().lines().at(string.start()).line});
  }
}

void read_setup_cfg(std::string_view text, Project& project) {
  std::string section;
  std::string key;
  std::uint32_t number = 0;
  for (const std::string_view line : base::split(text, '\n')) {
    ++number;
    const std::string_view bare = base::trim(line);
    if (bare.empty() || bare.front() == '#' || bare.front() == ';') continue;
    if (bare.front() == '[') {
      section = std::string(base::trim(bare.substr(1, bare.find(']') - 1)));
      continue;
    }
    std::string_view value = bare;
    // An indented line continues the value of the line above.
    if (line.front() != ' ' && line.front() != '\t') {
      const auto equals = bare.find_first_of("=:");
      if (equals == std::string_view::npos) continue;
      key = std::string(base::trim(bare.substr(0, equals)));
      value = base::trim(bare.substr(equals + 1));
    }
    const std::string place = fmt::format("{}.{}", section, key);
    // "attr: pkg.__version__" and "file: VERSION" would have to be run.
    const bool literal = !value.starts_with("attr:") && !value.starts_with("file:");
    if (place == "metadata.name" && project.name.empty()) project.name = std::string(value);
    if (place == "metadata.version" && project.version.empty() && literal)
      project.version = std::string(value);
    if (place == "options.python_requires" && project.python.empty())
      project.python = std::string(value);
    if (place == "options.entry_points.console_scripts" && value.find('=') != std::string::npos)
      project.scripts.emplace_back(base::trim(value.substr(0, value.find('='))));
    if (section == "metadata") project.installable = true;
    if (place == "options.install_requires") add_requirement(project, value, {"setup.cfg", number});
  }
}

}  // namespace torchport::scaffold
