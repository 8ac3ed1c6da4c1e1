#include "runtime/place/host_words.h"

#include <filesystem>

#include <ATen/Context.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/probe/probe.h"

namespace torchport {

namespace {

// The folder of the running torch: where its libtorch_cpu.so was loaded from.
std::string torch_root() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&at::globalContext), &info) == 0) return {};
  std::error_code error;
  const auto library = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::string() : library.parent_path().parent_path().string();
}

}  // namespace

std::string host_words() {
  host::Machine machine = host::this_machine({});
  machine.output = [](const auto&) { return std::string(); };  // nvcc does not matter here
  host::Facts facts = host::probe(machine);
  // Reads the running torch, and not that of an environment that happens to be active.
  facts.torches = {host::read_torch(machine, torch_root(), {})};
  const host::Verdict verdict = host::judge(facts);
  if (verdict.state == "uses") return {};
  if (verdict.state == "none" || verdict.diagnoses.empty()) return verdict.summary;
  const host::Diagnosis& cause = verdict.diagnoses.front();
  return fmt::format("{} [{}]: {}", cause.what, cause.code, cause.remedy);
}

}  // namespace torchport
