// Implements `torchport doctor`: why torch does not use this machine's GPU.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/file_system.h"
#include "base/tell.h"
#include "cli/command.h"
#include "cli/forward.h"
#include "cli/python.h"
#include "cli/recorded.h"
#include "cli/terminal.h"
#include "host/causes/cause.h"
#include "host/facts/snapshot.h"
#include "host/probe/probe.h"
#include "source/report/report.h"

namespace torchport::cli::doctor_command {

namespace {

struct DoctorOptions {
  std::string from;
  std::string require;
  bool json = false;
  bool self = false;
};

std::string text_of(const host::Gpu& gpu) {
  std::string text = gpu.name.empty() ? fmt::format("{} {}", gpu.vendor, gpu.id) : gpu.name;
  if (!gpu.capability.empty()) text += fmt::format(", {}", gpu.capability);
  if (gpu.memory > 0) text += fmt::format(", {}", base::format_bytes(gpu.memory));
  if (!gpu.bus.empty()) text += fmt::format(", {}", gpu.bus);
  if (!gpu.driver.empty()) text += fmt::format(", driver {}", gpu.driver);
  return text;
}

std::string text_of(const host::Torch& torch) {
  std::string text =
      fmt::format("{} in {}", torch.version.empty() ? "?" : torch.version, torch.root);
  if (!torch.cxx11_abi) text += ", with the pre-C++11 ABI";
  if (!torch.archs.empty()) text += fmt::format(", for {}", fmt::join(torch.archs, " "));
  return text;
}

// "7.1.0, SMI ok".
std::string stated(const std::string& value, std::string_view library, const std::string& state) {
  if (state.empty()) return value;
  return fmt::format("{}{}{} {}", value, value.empty() ? "" : ", ", library, state);
}

// The limits of the control group.
std::string limits(const host::Facts& facts) {
  std::string text;
  if (facts.memory_limit > 0)
    text = fmt::format("{} of memory", base::format_bytes(facts.memory_limit));
  if (facts.cpu_limit > 0)
    text += fmt::format("{}{:g} CPUs", text.empty() ? "" : ", ",
                        static_cast<double>(facts.cpu_limit) / 1000.0);
  return text;
}

void print_facts(const host::Facts& facts) {
  std::string system = fmt::format("{} {}, {}", facts.system, facts.kernel, facts.machine);
  if (!facts.release.empty()) system += ", " + facts.release;
  if (facts.wsl) system += ", WSL";
  if (!facts.container.empty()) system += fmt::format(", in a {} container", facts.container);
  print_row(stdout, "system", system);
  print_row(stdout, "limits", limits(facts));
  for (const host::Gpu& gpu : facts.gpus) print_row(stdout, "GPU", text_of(gpu));
  if (facts.gpus.empty())
    print_row(stdout, "GPU", "none: neither the PCI bus nor a driver has one");
  if (!facts.nvidia.module.empty() || !facts.nvidia.library.empty())
    print_row(stdout, "NVIDIA",
              fmt::format("driver {}, libcuda {}, NVML {}, CUDA up to {}",
                          facts.nvidia.module.empty() ? "none" : facts.nvidia.module,
                          facts.nvidia.library.empty() ? "none" : facts.nvidia.library,
                          facts.nvidia.nvml, facts.nvidia.cuda));
  print_row(stdout, "ROCm", stated(facts.rocm, "SMI", facts.rocm_smi));
  print_row(stdout, "Level Zero", stated(facts.level_zero, "loader", facts.level_zero_state));
  for (const host::Toolkit& toolkit : facts.toolkits)
    print_row(stdout, "toolkit",
              fmt::format("CUDA {} in {} ({}), nvcc {}", toolkit.version, toolkit.path,
                          toolkit.from, toolkit.nvcc.empty() ? "does not run" : toolkit.nvcc));
  for (const auto& [name, value] : facts.environment)
    print_row(stdout, "variable", fmt::format("{}={}", name, value));
  for (const host::Torch& torch : facts.torches) print_row(stdout, "torch", text_of(torch));
}

void print_verdict(const host::Verdict& verdict) {
  fmt::print("\n{}\n", report::one_line(verdict.summary));
  int number = 0;
  for (const host::Diagnosis& diagnosis : verdict.diagnoses) {
    fmt::print("\n  {}. {}{} [{}]\n     {}\n", ++number,
               diagnosis.blocks ? "" : "note: ", report::one_line(diagnosis.what), diagnosis.code,
               report::one_line(diagnosis.remedy));
  }
  if (verdict.install.empty()) return;
  fmt::print("\nthe build of torch for this machine:\n");
  for (const std::string& line : verdict.install) fmt::print("  {}\n", line);
}

std::string to_json(const host::Facts& facts, const host::Verdict& verdict) {
  nlohmann::ordered_json whole{{"state", verdict.state}, {"summary", verdict.summary}};
  auto& findings = whole["findings"] = nlohmann::ordered_json::array();
  for (const host::Diagnosis& diagnosis : verdict.diagnoses)
    findings.push_back({{"code", diagnosis.code},
                        {"what", diagnosis.what},
                        {"remedy", diagnosis.remedy},
                        {"blocks", diagnosis.blocks}});
  whole["install"] = verdict.install;
  whole["facts"] = nlohmann::ordered_json::parse(host::to_json(facts));
  return whole.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int doctor(const DoctorOptions& options) {
  if (options.self)
    return become_python_module("torchport._self_check", options.json
                                                             ? std::vector<std::string>{"--json"}
                                                             : std::vector<std::string>{});
  const auto read = options.from.empty()
                        ? base::Result<host::Facts>(host::probe(host::this_machine(own_prefix())))
                        : read_recorded(options.from, &host::from_json);
  if (!read) {
    print_error(read.error());
    return kUsageError;
  }
  const host::Facts& facts = *read;
  const host::Verdict verdict = host::judge(facts);
  if (options.json) {
    fmt::print("{}", to_json(facts, verdict));
  } else {
    print_facts(facts);
    print_verdict(verdict);
  }
  if (!options.require.empty()) {
    const bool met = host::computes_on(facts, verdict, options.require);
    if (!met) base::tell("torchport: torch cannot compute on {} here\n", options.require);
    return met ? kClean : kFindings;
  }
  const bool fine = verdict.state == "uses" || verdict.state == "none";
  return fine ? kClean : kFindings;
}

void attach(CLI::App& app) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* sub =
      app.add_subcommand("doctor", "Say whether torch can use this machine's GPU, and if not, why");
  sub->add_option("--from", options->from,
                  "Judge a recorded machine: a file that --json wrote there")
      ->type_name("FILE");
  sub->add_flag("--json", options->json, "Print the machine and the verdict as one JSON object");
  sub->add_option("--require", options->require,
                  "Exit with 0 only if torch can compute on this device")
      ->type_name("DEVICE")
      ->check(CLI::IsMember(host::requirable_devices()));
  sub->add_flag("--self", options->self,
                "Check this installation of torchport instead; put the answer into a bug report")
      ->excludes("--from")
      ->excludes("--require");
  sub->footer(
      "\nExit codes: 0 torch can use the GPU, or there is no GPU; 1 torch cannot use the GPU, "
      "--require is not met, or a record is empty; 2 wrong use.");
  sub->callback([options] { set_exit_code(doctor(*options)); });
}

const CommandRegistration kDoctor{{.order = 14, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::doctor_command
