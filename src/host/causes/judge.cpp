#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "devices/device_kind.h"
#include "host/causes/cause.h"
#include "host/causes/install.h"

namespace torchport::host {

namespace {

std::vector<Examine>& causes() {
  static std::vector<Examine> list;
  return list;
}

std::string names_of(const std::vector<Gpu>& gpus) {
  if (gpus.empty()) return "a GPU";
  std::string text;
  for (const Gpu& gpu : gpus) {
    if (!text.empty()) text += ", ";
    text += gpu.name.empty() ? fmt::format("a GPU of {} ({})", gpu.vendor, gpu.id) : gpu.name;
  }
  return text;
}

std::string summary_of(const Facts& facts, const std::string& state) {
  const Torch* torch = facts.torch();
  const std::string which =
      torch == nullptr ? "no torch"
                       : fmt::format("torch {}, built for {}", torch->version, built_for(*torch));
  if (state == "none")
    return fmt::format("this machine has no GPU; {}", torch == nullptr ? "no torch either" : which);
  if (state == "no torch")
    return fmt::format("{}; torch is not installed in this environment", names_of(facts.gpus));
  if (state == "uses") return fmt::format("{}, can use {}", which, names_of(facts.gpus));
  return fmt::format("{}, cannot use {}", which, names_of(facts.gpus));
}

// The order of Verdict::diagnoses.
bool before(const Diagnosis& a, const Diagnosis& b) {
  if (a.blocks != b.blocks) return a.blocks;
  return std::tie(a.depth, a.code, a.what, a.remedy) < std::tie(b.depth, b.code, b.what, b.remedy);
}

// The name of AMD's builds of torch, whose devices are called "cuda" in a program.
constexpr std::string_view kRocm = "rocm";

}  // namespace

std::string built_for(const Torch& torch) {
  if (!torch.hip.empty()) return "ROCm " + torch.hip;
  const devices::DeviceKind* kind = torch.kind();
  if (kind == nullptr) return "the CPU";
  return fmt::format("{} {}", kind->backend, torch.version_of(kind->host.version_member));
}

CauseRegistration::CauseRegistration(Examine examine) {
  causes().push_back(examine);
}

Verdict judge(const Facts& facts) {
  Verdict verdict;
  for (const Examine examine : causes()) {
    if (auto diagnosis = examine(facts)) verdict.diagnoses.push_back(std::move(*diagnosis));
  }
  std::sort(verdict.diagnoses.begin(), verdict.diagnoses.end(), before);
  const bool blocked = std::any_of(verdict.diagnoses.begin(), verdict.diagnoses.end(),
                                   [](const Diagnosis& diagnosis) { return diagnosis.blocks; });
  if (facts.torch() == nullptr)
    verdict.state = facts.gpus.empty() ? "none" : "no torch";
  else if (blocked)
    verdict.state = "cannot";
  else
    verdict.state = facts.gpus.empty() ? "none" : "uses";
  verdict.summary = summary_of(facts, verdict.state);
  if (verdict.state != "uses") verdict.install = install_lines(facts);
  return verdict;
}

bool computes_on(const Facts& facts, const Verdict& verdict, std::string_view kind) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || !torch->fault.empty()) return false;
  if (kind == "cpu") return true;
  if (verdict.state != "uses") return false;
  if (kind == kRocm) return !torch->hip.empty();
  const devices::DeviceKind* known = devices::find_kind(kind);
  if (known == nullptr) return false;
  const devices::HostSupport& needed = known->host;
  return needed.known_to_doctor &&
         (needed.version_member.empty() || !torch->version_of(needed.version_member).empty()) &&
         (needed.system.empty() || needed.system == facts.system);
}

std::vector<std::string> requirable_devices() {
  std::vector<std::string> names{"cpu"};
  for (const devices::DeviceKind& kind : devices::kinds())
    if (kind.host.known_to_doctor) names.emplace_back(kind.name);
  names.emplace_back(kRocm);
  return names;
}

}  // namespace torchport::host
