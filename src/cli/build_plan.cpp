// Implements `torchport build-plan`: whether an extension's CUDA code is built here, and why.
#include "build_gate/build_plan.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file_system.h"
#include "base/tell.h"
#include "cli/build_plan.h"
#include "cli/command.h"
#include "cli/python.h"
#include "cli/recorded.h"
#include "cli/terminal.h"
#include "host/causes/cause.h"
#include "host/probe/probe.h"
#include "source/report/report.h"

namespace torchport::cli {

namespace {

struct BuildPlanOptions {
  build_gate::TorchChoice torch;
  ExtensionStubOptions extension_stub;
  std::string of;
  std::string from;
  std::string setup;
  bool json = false;
  bool shell = false;
};

void print_inputs(const build_gate::BuildInputs& inputs) {
  const host::Torch& torch = inputs.torch;
  if (torch.root.empty()) {
    print_row(stdout, "torch", "none");
  } else {
    print_row(stdout, "torch",
              fmt::format("{}, built for {}, in {}", torch.version.empty() ? "?" : torch.version,
                          built_for(torch), torch.root));
    if (!torch.archs.empty())
      print_row(stdout, "", fmt::format("its own code: {}", fmt::join(torch.archs, " ")));
  }
  for (const build_gate::BuildToolkit& toolkit : inputs.toolkits)
    print_row(
        stdout, "toolkit",
        fmt::format("nvcc {} in {} ({}){}", toolkit.nvcc.empty() ? "does not run" : toolkit.nvcc,
                    toolkit.path, toolkit.from, toolkit.headers ? "" : ", without headers"));
  if (inputs.toolkits.empty()) print_row(stdout, "toolkit", "none");
  for (const build_gate::DeviceCompiler& compiler : inputs.compilers)
    print_row(stdout, "compiler",
              fmt::format("{} {} in {} ({})", compiler.kind,
                          compiler.version.empty() ? "does not run" : compiler.version,
                          compiler.path, compiler.from));
  if (!inputs.compiler.version.empty())
    print_row(stdout, "compiler",
              fmt::format("{} {} ({})", inputs.compiler.family, inputs.compiler.version,
                          inputs.compiler.path));
  for (const auto& [name, value] : inputs.environment)
    print_row(stdout, "variable", fmt::format("{}={}", name, value));
}

std::string headline(const build_gate::BuildPlan& plan) {
  switch (plan.outcome) {
    case build_gate::BuildOutcome::kCuda:
      return "builds CUDA code for " + to_text(plan.archs);
    case build_gate::BuildOutcome::kRocm:
    case build_gate::BuildOutcome::kXpu: {
      const std::string archs = fmt::format("{}", fmt::join(plan.device_archs, ";"));
      return fmt::format("builds {} code{}{}", to_text(plan.outcome), archs.empty() ? "" : " for ",
                         archs);
    }
    case build_gate::BuildOutcome::kCpu:
      return "builds for the CPU only";
    case build_gate::BuildOutcome::kRefuse:
      break;
  }
  return "refuses to build";
}

void print_plan(const build_gate::BuildPlan& plan) {
  fmt::print("\n{} [{}]\n  {}\n", headline(plan), plan.code, report::one_line(plan.reason));
  if (!plan.remedy.empty()) fmt::print("  {}\n", report::one_line(plan.remedy));
  for (const std::string& note : plan.notes) fmt::print("  note: {}\n", report::one_line(note));
  if (plan.environment.empty()) return;
  fmt::print("\nfor builds that do not ask torchport:\n");
  for (const auto& [name, value] : plan.environment) fmt::print("  {}='{}'\n", name, value);
}

// Quotes a value for the shell's `eval`.
std::string shell_word(std::string_view value) {
  std::string text = "'";
  for (const char c : value) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

void print_shell(const build_gate::BuildPlan& plan) {
  for (const auto& [name, value] : plan.environment)
    fmt::print("export {}={}\n", name, shell_word(value));
}

base::Result<build_gate::BuildInputs> inputs_for(const BuildPlanOptions& options) {
  if (options.from.empty())
    return build_gate::build_inputs(host::this_machine(own_prefix()), options.torch);
  return read_recorded(options.from, &build_gate::build_inputs_from_json);
}

// Build tools, which read JSON and variables, ask from within a setup.py that heeds the plan.
std::string setup_to_heed(const BuildPlanOptions& options) {
  constexpr std::string_view kHere = "setup.py";
  if (!options.setup.empty()) return options.setup;
  const bool for_people = !options.json && !options.shell && options.extension_stub.output.empty();
  const bool is_here =
      base::real_file_system().status(std::string(kHere), true).type == base::FileType::kRegular;
  return for_people && options.from.empty() && is_here ? std::string(kHere) : std::string();
}

int build_plan(const BuildPlanOptions& options) {
  if (!options.of.empty()) return print_provenance(options.of, options.json);
  const auto inputs = inputs_for(options);
  if (!inputs) {
    print_error(inputs.error());
    return kUsageError;
  }
  build_gate::BuildPlan plan = build_gate::decide(*inputs);
  if (const std::string setup = setup_to_heed(options); !setup.empty())
    if (const auto heeded = heed_setup(setup, plan); !heeded) {
      print_error(heeded.error());
      return kUsageError;
    }
  const bool refused = plan.outcome == build_gate::BuildOutcome::kRefuse;
  if (!options.extension_stub.output.empty())
    return refused ? kFindings : write_extension_stub(*inputs, plan, options.extension_stub);
  if (options.json) {
    fmt::print("{}", to_json(*inputs, plan));
  } else if (options.shell) {
    print_shell(plan);
    if (refused) base::tell("torchport: {}: {}\n", headline(plan), report::one_line(plan.reason));
  } else {
    print_inputs(*inputs);
    print_plan(plan);
  }
  return refused ? kFindings : kClean;
}

void attach(CLI::App& app) {
  auto options = std::make_shared<BuildPlanOptions>();
  CLI::App* sub = app.add_subcommand("build-plan",
                                     "Say whether an extension's CUDA code is built here, and why");
  auto* python = sub->add_option("--python", options->torch.python,
                                 "Build against the torch of this interpreter or environment");
  auto* torch = sub->add_option("--torch", options->torch.torch, "Build against this torch");
  auto* from = sub->add_option("--from", options->from,
                               "Decide from recorded inputs: a file that --json wrote");
  auto* json = sub->add_flag("--json", options->json,
                             "Print the inputs and the decision as one JSON object");
  auto* shell = sub->add_flag(
      "--export", options->shell,
      "Print commands for `eval` in a shell, so that other build tools decide the same");
  python->type_name("PATH")->excludes(torch)->excludes(from);
  torch->type_name("PATH")->excludes(from);
  from->type_name("FILE");
  json->excludes(shell);
  auto* setup = sub->add_option(
      "--setup", options->setup,
      "Heed what this setup.py does in any case (the one of the current folder, in text output)");
  setup->type_name("FILE");
  sub->add_option("--of", options->of,
                  "Read from a file how it was built: an extension, or a wheel with extensions")
      ->type_name("FILE")
      ->excludes(python)
      ->excludes(torch)
      ->excludes(from)
      ->excludes(setup)
      ->excludes(shell);
  add_extension_stub_options(*sub, options->extension_stub);
  sub->footer(
      "\nTORCHPORT_BUILD=cuda|rocm|xpu|cpu|auto, FORCE_CUDA, TORCH_CUDA_ARCH_LIST, CUDA_HOME and "
      "MAX_JOBS "
      "are "
      "read; it never looks for a GPU.\n"
      "Exit codes: 0 builds; 1 refuses, or --of names a file without a note or with a wrong one; 2 "
      "wrong use.");
  sub->callback([options] { set_exit_code(build_plan(*options)); });
}

const CommandRegistration kBuildPlan{{.order = 15, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli
