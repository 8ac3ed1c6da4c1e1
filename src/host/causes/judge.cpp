#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "devices/device_kind.h"
#include "host/causes/cause.h"
#include "host/causes/hidden_torch.h"
#include "host/causes/install.h"
#include "host/causes/queries.h"

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
  if (state == "unknown") {
    if (facts == Facts{}) return "nothing is known of this machine";
    return fmt::format("{}; whether it can use a GPU is not known", which);
  }
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

namespace {

bool blocks(const Diagnosis& diagnosis) {
  return diagnosis.blocks;
}

// Whether the facts do not suffice for a verdict: then this is all that is said.
bool leaves_unknown(const Diagnosis& diagnosis) {
  return diagnosis.code == "no-facts" || diagnosis.code == "system-not-examined" ||
         diagnosis.code == "gpu-not-asked";
}

std::vector<Diagnosis> diagnoses_of(const Facts& facts) {
  std::vector<Diagnosis> found;
  for (const Examine examine : causes()) {
    if (auto diagnosis = examine(facts)) found.push_back(std::move(*diagnosis));
  }
  std::sort(found.begin(), found.end(), before);
  const auto unknown = std::find_if(found.begin(), found.end(), &leaves_unknown);
  if (unknown != found.end()) return {*unknown};
  return found;
}

// What blocks, in words. Equal words for two torches: the cause is none of theirs.
std::string blocking(const std::vector<Diagnosis>& diagnoses) {
  std::string text;
  for (const Diagnosis& diagnosis : diagnoses)
    if (diagnosis.blocks) text += diagnosis.code + "\n";
  return text;
}

// If the first torch is blocked by what does not block the second, that it hides the second is the
// first cause, and the others are those of the second.
std::vector<Diagnosis> with_hidden_torch(const Facts& facts, std::vector<Diagnosis> diagnoses) {
  if (facts.torches.size() < 2 || std::none_of(diagnoses.begin(), diagnoses.end(), &blocks))
    return diagnoses;
  std::vector<Diagnosis> behind = diagnoses_of(without_first_torch(facts));
  if (blocking(behind) == blocking(diagnoses)) return diagnoses;
  behind.insert(behind.begin(), hides_torch(facts));
  return behind;
}

bool has_usable_gpu(const Facts& facts) {
  // torch has no build for other GPUs of a Mac, nor for those of other vendors.
  if (facts.system == "Darwin") return !facts.of("apple").empty();
  return !facts.of("nvidia").empty() || !facts.of("amd").empty() || !facts.of("intel").empty();
}

bool is_first(const Verdict& verdict, std::string_view code) {
  return !verdict.diagnoses.empty() && verdict.diagnoses.front().code == code;
}

}  // namespace

Verdict judge(const Facts& facts) {
  Verdict verdict;
  verdict.diagnoses = with_hidden_torch(facts, diagnoses_of(facts));
  const bool blocked = std::any_of(verdict.diagnoses.begin(), verdict.diagnoses.end(), &blocks);
  if (!verdict.diagnoses.empty() && leaves_unknown(verdict.diagnoses.front()))
    verdict.state = "unknown";
  else if (facts.torch() == nullptr)
    verdict.state = has_usable_gpu(facts) ? "no torch" : "none";
  else if (blocked)
    verdict.state = "cannot";
  else
    verdict.state = has_usable_gpu(facts) ? "uses" : "none";
  verdict.summary = summary_of(facts, verdict.state);
  const bool hides = is_first(verdict, "hidden-torch");
  // Another build does not help where the hardware, the driver or the container is at fault.
  const bool of_build =
      std::any_of(verdict.diagnoses.begin(), verdict.diagnoses.end(),
                  [](const Diagnosis& one) { return one.blocks && one.depth >= kBuild; });
  if (verdict.state != "uses" && verdict.state != "unknown" &&
      (verdict.state != "cannot" || of_build))
    verdict.install = install_lines(hides ? without_first_torch(facts) : facts);
  return verdict;
}

bool computes_on(const Facts& facts, const Verdict& verdict, std::string_view kind) {
  const Torch* torch = facts.torch();
  if (torch == nullptr || !can_be_imported(*torch)) return false;
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
