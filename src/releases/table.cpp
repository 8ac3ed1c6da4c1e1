#include "releases/table.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "releases/table_text.h"
#include "versions/version.h"

namespace torchport::releases {

namespace {

using Json = nlohmann::json;

// Reads a value that may be "null", which means unknown.
template <class T>
T known(const Json& object, const char* name) {
  const Json& value = object.at(name);
  return value.is_null() ? T{} : value.get<T>();
}

CudaBuild cuda_build(const Json& object, const std::string& by_default) {
  CudaBuild build{object.at("cuda"), known<std::string>(object, "cudnn"),
                  known<std::string>(object, "nccl"), object.at("archs"), false};
  build.by_default = build.cuda == by_default;
  return build;
}

std::vector<CudaBuild> aarch64_builds(const Json& object) {
  const std::string by_default = object.at("default_cuda");
  std::vector<CudaBuild> builds;
  for (const Json& one : object.at("cuda"))
    builds.push_back({one.at("cuda"), {}, {}, one.at("archs"), one.at("cuda") == by_default});
  return builds;
}

Runtime runtime_in(const Json& object) {
  Runtime runtime{object.at("built_for"), {}};
  for (const auto& [version, git] : object.at("serves").items())
    runtime.serves.emplace_back(version, git.get<std::string>());
  std::sort(runtime.serves.begin(), runtime.serves.end(),
            [](const auto& a, const auto& b) { return versions::older(a.first, b.first); });
  return runtime;
}

TorchRelease torch_release(const Json& object) {
  TorchRelease release;
  release.version = object.at("version");
  release.pythons = object.at("python");
  const std::string by_default = object.at("default_cuda");
  for (const Json& build : object.at("cuda")) release.cuda.push_back(cuda_build(build, by_default));
  if (const Json& aarch64 = object.at("aarch64"); !aarch64.is_null())
    release.cuda_aarch64 = aarch64_builds(aarch64);
  if (const Json& rocm = object.at("rocm"); !rocm.is_null())
    release.rocm = {rocm.at("version"), known<std::vector<std::string>>(rocm, "archs")};
  if (const Json& xpu = object.at("xpu"); !xpu.is_null()) release.xpu = xpu.get<bool>();
  release.macos = known<std::string>(object, "macos");
  if (const Json& runtime = object.at("runtime"); !runtime.is_null())
    release.runtime = runtime_in(runtime);
  release.changes = object.at("changes");
  release.sources = object.at("sources");
  return release;
}

template <class T>
bool newest_first(const std::vector<T>& list) {
  return std::adjacent_find(list.begin(), list.end(), [](const T& a, const T& b) {
           return !versions::older(b.version, a.version);
         }) == list.end();
}

// What is wrong with a release; empty if nothing is.
std::string fault_of(const TorchRelease& release) {
  if (versions::parse_version(release.version).size() != 3) return "version";
  if (release.pythons.empty()) return "python";
  if (release.sources.empty()) return "sources";
  if (release.cuda.empty() || !release.cuda.front().by_default) return "default_cuda";
  const auto without_order = [](const CudaBuild& build) {
    return build.archs.empty() || !std::is_sorted(build.archs.begin(), build.archs.end());
  };
  if (std::any_of(release.cuda.begin(), release.cuda.end(), without_order)) return "cuda.archs";
  if (release.cuda_aarch64 &&
      std::any_of(release.cuda_aarch64->begin(), release.cuda_aarch64->end(), without_order))
    return "aarch64.archs";
  if (!release.runtime) return {};
  bool serves_its_own = false;
  for (const auto& [version, git] : release.runtime->serves) {
    if (!versions::same_minor(version, release.version) || git.empty()) return "runtime.serves";
    serves_its_own = serves_its_own || version == release.runtime->built_for;
  }
  return serves_its_own ? "" : "runtime.built_for";
}

base::Result<void> check(const Table& table) {
  const auto wrong = [](std::string what) {
    return base::fail(base::ErrorCode::kSyntax, std::move(what));
  };
  if (!newest_first(table.cuda)) return wrong("\"cuda\" is not sorted, newest first");
  if (!newest_first(table.rocm)) return wrong("\"rocm\" is not sorted, newest first");
  if (std::adjacent_find(table.gpu_archs.begin(), table.gpu_archs.end(),
                         [](const GpuLifetime& a, const GpuLifetime& b) {
                           return a.arch <= b.arch;
                         }) != table.gpu_archs.end())
    return wrong("\"gpu_archs\" is not sorted, newest first");
  for (const GpuLifetime& one : table.gpu_archs)
    if (!one.last.empty() && versions::older(one.last, one.first))
      return wrong(
          fmt::format("\"gpu_archs\": the last CUDA of {} is older than its first", one.arch));
  for (const GpuName& name : table.gpu_names)
    if (name.archs.empty() || !std::is_sorted(name.archs.begin(), name.archs.end()))
      return wrong(fmt::format("\"gpu_names\": the architectures of {} are not sorted", name.name));
  if (table.releases.empty()) return wrong("\"releases\" is empty");
  if (!newest_first(table.releases)) return wrong("\"releases\" is not sorted, newest first");
  for (const TorchRelease& release : table.releases)
    if (const std::string fault = fault_of(release); !fault.empty())
      return wrong(
          fmt::format("the release {}: \"{}\" is missing or wrong", release.version, fault));
  return {};
}

}  // namespace

base::Result<Table> parse_table(std::string_view text) {
  Table table;
  try {
    const Json whole = Json::parse(text);
    for (const Json& one : whole.at("cuda"))
      table.cuda.push_back({one.at("version"), one.at("driver"), known<std::string>(one, "image")});
    for (const Json& one : whole.at("rocm"))
      table.rocm.push_back({one.at("version"), one.at("image"), one.at("base"), one.at("python")});
    for (const Json& one : whole.at("gpu_archs"))
      table.gpu_archs.push_back({one.at("arch"), one.at("first"), one.at("last"),
                                 one.value("last_torch", std::string()),
                                 one.value("last_driver", 0)});
    for (const Json& one : whole.at("gpu_names"))
      table.gpu_names.push_back({one.at("name"), one.at("archs"), one.at("ptx")});
    for (const Json& one : whole.at("releases")) table.releases.push_back(torch_release(one));
  } catch (const Json::exception& error) {
    return base::fail(base::ErrorCode::kSyntax, error.what());
  }
  if (auto checked = check(table); !checked) return tl::unexpected<base::Error>(checked.error());
  return table;
}

const Table& table() {
  static const Table kTable = parse_table(table_text()).value();
  return kTable;
}

const TorchRelease* release_of(std::string_view torch) {
  const auto& releases = table().releases;
  const auto found = std::find_if(releases.begin(), releases.end(), [&](const TorchRelease& one) {
    return versions::same_minor(one.version, torch);
  });
  return found == releases.end() ? nullptr : &*found;
}

const std::vector<CudaBuild>& builds_of(std::string_view torch) {
  static const std::vector<CudaBuild> kNone;
  const TorchRelease* release = release_of(torch);
  return release == nullptr ? kNone : release->cuda;
}

const RocmRelease* rocm_release(std::string_view version) {
  const auto& releases = table().rocm;
  const auto found = std::find_if(releases.begin(), releases.end(),
                                  [&](const RocmRelease& one) { return one.version == version; });
  return found == releases.end() ? nullptr : &*found;
}

std::vector<std::string> runtime_versions() {
  std::vector<std::string> versions;
  const auto& releases = table().releases;
  for (auto release = releases.rbegin(); release != releases.rend(); ++release) {
    if (!release->runtime) continue;
    for (const auto& served : release->runtime->serves) versions.push_back(served.first);
  }
  return versions;
}

const Runtime* runtime_of(std::string_view torch) {
  const TorchRelease* release = release_of(torch);
  if (release == nullptr || !release->runtime) return nullptr;
  const std::string_view version = torch.substr(0, torch.find('+'));
  for (const auto& served : release->runtime->serves)
    if (served.first == version) return &*release->runtime;
  return nullptr;
}

const std::string& newest_torch() {
  return table().releases.front().version;
}

}  // namespace torchport::releases
