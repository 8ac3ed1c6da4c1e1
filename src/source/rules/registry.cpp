#include "source/rules/registry.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/text.h"

namespace torchport::rules {

namespace {

std::vector<Rule>& mutable_rules() {
  static std::vector<Rule> rules;
  return rules;
}

}  // namespace

Registration::Registration(Rule rule) {
  auto& rules = mutable_rules();
  const auto place = std::lower_bound(
      rules.begin(), rules.end(), rule.info.code,
      [](const Rule& other, std::string_view code) { return other.info.code < code; });
  rules.insert(place, std::move(rule));
}

const std::vector<Rule>& all_rules() {
  return mutable_rules();
}

const Rule* find_rule(std::string_view code_or_name) {
  const auto& rules = all_rules();
  const std::string small = base::lower(code_or_name);
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) {
    return rule.info.name == small || base::lower(rule.info.code) == small;
  });
  return found == rules.end() ? nullptr : &*found;
}

std::string_view page_of(const RuleInfo& rule) {
  std::string folder(rule.name);
  std::replace(folder.begin(), folder.end(), '-', '_');
  folder.insert(0, "/");
  for (const EmbeddedPage& page : embedded_pages()) {
    if (page.folder.ends_with(folder)) return page.text;
  }
  return {};
}

std::string no_such_rule(std::string_view written) {
  std::vector<std::string_view> names;
  for (const Rule& rule : all_rules()) names.insert(names.end(), {rule.info.code, rule.info.name});
  return fmt::format("no rule is called \"{}\"{}; `torchport rules` lists them", written,
                     base::did_you_mean(written, names));
}

bool PythonContext::is_build_script() const {
  const auto slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return name == "setup.py" || name == "build.py" || name == "setup_ext.py" ||
         (name.starts_with("setup") && name.ends_with(".py"));
}

// Whether a file is a program: it is started by itself, and neither defines nor runs a test.
struct ProgramShape {
  explicit ProgramShape(const SemanticModel& model) {
    for (const Node function : model.nodes(Kind::kFunction)) {
      if (!function.child(Field::kName).text().starts_with("test")) continue;
      names_tests = true;
      has_tests |= !function.parent().is(Kind::kModule) || !is_called(model, function);
    }
    for (const Node branch : model.nodes(Kind::kIf))
      is_started |=
          branch.parent().is(Kind::kModule) &&
          branch.child(Field::kCondition).text().find("__main__") != std::string_view::npos;
    for (const Node call : model.nodes(Kind::kCall)) {
      const std::string& name = model.called(call);
      reads_arguments |= name == "argparse.ArgumentParser" || name.starts_with("click.");
      runs_tests |= name == "unittest.main" || name == "pytest.main" ||
                    name.ends_with("absltest.main") ||
                    syntax::end_of_name(syntax::callee(call)) == "run_tests";
    }
  }

  // Whether the file itself calls the function.
  static bool is_called(const SemanticModel& model, Node function) {
    return !model.calls_of(function.child(Field::kName).text()).empty();
  }

  bool has_tests = false;
  bool names_tests = false;  // also those that the file itself calls
  bool is_started = false;
  bool reads_arguments = false;
  bool runs_tests = false;
};

bool PythonContext::is_test() const {
  if (!known_test) known_test = finds_test();
  return *known_test;
}

bool PythonContext::finds_test() const {
  const auto slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (name == "conftest.py" || path.find("tests/") != std::string_view::npos ||
      path.find("/test/") != std::string_view::npos)
    return true;
  if (!name.starts_with("test_") && !name.ends_with("_test.py")) return false;
  const auto& shape = model.facts<ProgramShape>();
  return shape.has_tests || shape.runs_tests || !shape.is_started ||
         (shape.names_tests && !shape.reads_arguments);
}

}  // namespace torchport::rules
