// Implements `torchport explain` and `torchport rules`.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/terminal.h"
#include "source/project/diagnostic.h"
#include "source/rules/registry.h"

namespace torchport::cli::explain_command {

namespace {

int explain(const std::string& word) {
  const rules::Rule* rule = rules::find_rule(word);
  if (rule == nullptr) {
    print_error({base::ErrorCode::kUsage, rules::no_such_rule(word), {}, 0});
    return kUsageError;
  }
  fmt::print("{}", project::explanation(rule->info));
  return kClean;
}

int list_rules() {
  std::string_view family;
  for (const rules::Rule& rule : rules::all_rules()) {
    if (rule.info.family != family) {
      family = rule.info.family;
      fmt::print("\n{}\n", family);
    }
    fmt::print("  {}  {:<28} {:<8} {}{}\n", rule.info.code, rule.info.name,
               project::severity_name(rule.info.severity), rule.info.summary,
               rule.info.hygiene ? " (hygiene: off unless selected)" : "");
  }
  fmt::print("\n`torchport explain CODE` prints a rule's page.\n");
  return kClean;
}

void attach_explain(CLI::App& app) {
  auto word = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand(
      "explain", "Print a rule's page: what it finds, why, how to fix it, examples");
  sub->add_option("rule", *word, "A code (TP101) or a name (cuda-call)")
      ->required()
      ->type_name("RULE");
  sub->callback([word] { set_exit_code(explain(*word)); });
}

void attach_rules(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("rules", "List all rules");
  sub->callback([] { set_exit_code(list_rules()); });
}

const CommandRegistration kExplain{{.order = 3, .attach = &attach_explain, .takes_rest = {}}};
const CommandRegistration kRules{{.order = 4, .attach = &attach_rules, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::explain_command
