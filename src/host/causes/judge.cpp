#include <algorithm>

#include <fmt/format.h>

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
    return fmt::format("no GPU on this machine; {}", torch == nullptr ? "no torch either" : which);
  if (state == "no torch")
    return fmt::format("{}; there is no torch in this environment", names_of(facts.gpus));
  if (state == "uses") return fmt::format("{}, can use {}", which, names_of(facts.gpus));
  return fmt::format("{}, cannot use {}", which, names_of(facts.gpus));
}

}  // namespace

std::string built_for(const Torch& torch) {
  if (!torch.cuda.empty()) return "CUDA " + torch.cuda;
  if (!torch.hip.empty()) return "ROCm " + torch.hip;
  if (!torch.xpu.empty()) return "XPU " + torch.xpu;
  return "the CPU";
}

CauseRegistration::CauseRegistration(Examine examine) {
  causes().push_back(examine);
}

Verdict judge(const Facts& facts) {
  Verdict verdict;
  for (const Examine examine : causes()) {
    if (auto finding = examine(facts)) verdict.findings.push_back(std::move(*finding));
  }
  std::stable_sort(verdict.findings.begin(), verdict.findings.end(),
                   [](const Finding& a, const Finding& b) {
                     if (a.blocks != b.blocks) return a.blocks;
                     return std::pair(a.depth, a.code) < std::pair(b.depth, b.code);
                   });
  const bool blocked = std::any_of(verdict.findings.begin(), verdict.findings.end(),
                                   [](const Finding& finding) { return finding.blocks; });
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
  if (kind == "cuda") return !torch->cuda.empty();
  if (kind == "rocm") return !torch->hip.empty();
  if (kind == "xpu") return !torch->xpu.empty();
  return kind == "mps" && facts.system == "Darwin";
}

}  // namespace torchport::host
