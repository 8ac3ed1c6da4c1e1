// Implements `torchport devices`: the kinds of virtual devices and the models that they can be.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "devices/device_kind.h"
#include "devices/profiles/profile_file.h"

namespace torchport::cli::devices_command {

namespace {

struct DevicesOptions {
  std::string kind;
  std::string format = "text";
  bool profiles = false;
};

std::string capability_of(const devices::Profile& profile) {
  return profile.major == 0 ? std::string("-") : fmt::format("{}.{}", profile.major, profile.minor);
}

std::string rate(double value) {
  return value > 0 ? fmt::format("{:g}", value) : std::string("-");
}

// What is not known is null.
nlohmann::json number(double value) {
  return value > 0 ? nlohmann::json(value) : nlohmann::json(nullptr);
}

nlohmann::ordered_json json_of(const devices::DeviceKind& kind, const devices::Profile& profile) {
  const devices::PeakRates& peak = profile.peak;
  return {{"kind", kind.name},
          {"name", profile.name},
          {"device_name", profile.device_name},
          {"memory", profile.memory},
          {"memory_report", devices::name_of(profile.memory_report)},
          {"nominal_memory", profile.nominal_memory},
          {"capability", capability_of(profile)},
          {"multiprocessors", profile.multiprocessors},
          {"l2_cache", profile.l2_cache},
          {"clock_mhz", profile.clock_khz / 1000.0},
          {"peak_tflops",
           {{"fp16", number(peak.fp16)},
            {"bf16", number(peak.bf16)},
            {"tf32", number(peak.tf32)},
            {"fp8", number(peak.fp8)},
            {"fp4", number(peak.fp4)},
            {"int8", number(peak.int8)},
            {"fp32", number(peak.fp32)},
            {"fp64", number(peak.fp64)}}},
          {"gigabytes_per_second",
           {{"memory", number(profile.memory_bandwidth)},
            {"nvlink", number(profile.nvlink_bandwidth)},
            {"pcie", number(profile.pcie_bandwidth)}}},
          {"sources",
           {{"device", profile.source},
            {"peak", profile.peak_source},
            {"bandwidth", profile.bandwidth_source}}}};
}

// By memory, as one looks for a card that is large enough.
std::vector<const devices::Profile*> by_memory(const devices::DeviceKind& kind) {
  std::vector<const devices::Profile*> sorted;
  for (const devices::Profile& profile : kind.profiles) sorted.push_back(&profile);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto* a, const auto* b) { return a->memory < b->memory; });
  return sorted;
}

void print_profiles(const devices::DeviceKind& kind) {
  fmt::print("{:<20} {:>11} {:>6} {:>6} {:>7} {:>7}  {}\n", kind.name, "memory", "", "fp16", "fp32",
             "GB/s", "source");
  for (const devices::Profile* profile : by_memory(kind)) {
    const bool reported = profile->memory_report == devices::MemoryReport::kRuntime;
    fmt::print("{:<20} {:>10}{} {:>6} {:>6} {:>7} {:>7.0f}  {}\n", profile->name,
               base::format_bytes(profile->memory, 2), reported ? ' ' : '*',
               capability_of(*profile), rate(profile->peak.fp16), rate(profile->peak.fp32),
               profile->memory_bandwidth, profile->source);
  }
  fmt::print("\n");
}

int run(const DevicesOptions& options) {
  if (!options.kind.empty() && devices::find_kind(options.kind) == nullptr) {
    print_error({base::ErrorCode::kUsage,
                 fmt::format("`{}` is not a device kind; the kinds are {}", options.kind,
                             devices::kind_names()),
                 {},
                 0});
    return kUsageError;
  }
  auto all = nlohmann::ordered_json::array();
  for (const devices::DeviceKind& kind : devices::kinds()) {
    if (!options.kind.empty() && kind.name != options.kind) continue;
    if (options.format == "json") {
      if (options.profiles)
        for (const devices::Profile* profile : by_memory(kind))
          all.push_back(json_of(kind, *profile));
      else
        all.push_back({{"kind", kind.name},
                       {"profiles", kind.profiles.size()},
                       {"default", kind.profiles.front().name}});
    } else if (options.profiles) {
      print_profiles(kind);
    } else {
      fmt::print("{:<6} {:>3} profiles, the default is {}\n", kind.name, kind.profiles.size(),
                 kind.profiles.front().name);
    }
  }
  if (options.format == "json")
    fmt::print("{}\n", all.dump(2));
  else if (options.profiles)
    fmt::print(
        "fp16 (dense matrices, sums in float32) and fp32 in 10^12 operations a second; - is "
        "unknown.\n* is not what the accelerator's runtime reports: real devices have a little "
        "less.\n");
  return kClean;
}

void attach(CLI::App& app) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* sub =
      app.add_subcommand("devices", "List the kinds of virtual devices, and the models of each");
  sub->add_flag("--profiles", options->profiles,
                "List the models: memory, capability, rates and where they are from");
  sub->add_option("--kind", options->kind, "Only this kind")->type_name("KIND");
  sub->add_option("--format", options->format, "text or json (default: text)")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  sub->callback([options] { set_exit_code(run(*options)); });
}

const CommandRegistration kRegistered{{.order = 7, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::devices_command
