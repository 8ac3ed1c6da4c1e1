// Finds GPUs that torch's build has no kernels for.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/queries.h"
#include "versions/version.h"

namespace torchport::host::amd {

namespace {

// "gfx1030" for "10.3.0"; empty for another form.
std::string gfx_named(std::string_view version) {
  const auto numbers = versions::parse_version(version);
  if (numbers.size() != 3) return {};
  return fmt::format("gfx{}{:x}{:x}", numbers[0], numbers[1], numbers[2]);
}

// "10.3.0" for "gfx1030": minor version and stepping are one hexadecimal digit each.
std::string version_named(std::string_view gfx) {
  if (!gfx.starts_with("gfx") || gfx.size() < 6) return {};
  const auto digit = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
  return fmt::format("{}.{}.{}", gfx.substr(3, gfx.size() - 5), digit(gfx[gfx.size() - 2]),
                     digit(gfx.back()));
}

bool contains(const std::vector<std::string>& archs, const std::string& arch) {
  return std::find(archs.begin(), archs.end(), arch) != archs.end();
}

// A card of the same generation that the build has code for: "gfx1030" for "gfx1031".
std::string relative_of(const std::string& gfx, const std::vector<std::string>& archs) {
  const std::string generation = gfx.substr(0, gfx.size() - 1);
  for (const std::string& arch : archs)
    if (arch.size() == gfx.size() && arch.starts_with(generation)) return arch;
  return {};
}

std::string remedy_for(const std::string& gfx, const std::vector<std::string>& archs) {
  const std::string relative = gfx.empty() ? gfx : relative_of(gfx, archs);
  if (relative.empty())
    return "install a torch that has code for this card; AMD's list of supported cards is in "
           "ROCm's documentation";
  return fmt::format(
      "HSA_OVERRIDE_GFX_VERSION={} makes it run the kernels for {}, a card of the "
      "same generation; AMD does not support this",
      version_named(relative), relative);
}

std::optional<Diagnosis> arch_missing(const Facts& facts) {
  if (!uses_rocm(facts) || facts.torch()->archs.empty()) return std::nullopt;
  const auto& archs = facts.torch()->archs;
  const auto gpus = facts.of("amd");
  const auto override_version = facts.variable("HSA_OVERRIDE_GFX_VERSION");
  std::vector<const Gpu*> without;
  for (const Gpu* gpu : gpus) {
    const std::string as = override_version && !override_version->empty()
                               ? gfx_named(*override_version)
                               : gpu->capability;
    if (!gpu->capability.empty() && !contains(archs, as)) without.push_back(gpu);
  }
  if (without.empty()) return std::nullopt;
  const Gpu& gpu = *without.front();
  const bool overridden = override_version && !override_version->empty();
  return Diagnosis{
      "arch-not-built",
      overridden
          ? fmt::format("HSA_OVERRIDE_GFX_VERSION={} asks for kernels that torch {} does not "
                        "have: it has those for {}",
                        *override_version, facts.torch()->version, fmt::join(archs, " "))
          : fmt::format("torch {} has no kernels for {} ({})", facts.torch()->version, gpu.name,
                        gpu.capability),
      overridden && contains(archs, gpu.capability) ? "unset HSA_OVERRIDE_GFX_VERSION"
                                                    : remedy_for(gpu.capability, archs),
      kBuild, without.size() == gpus.size()};
}

const CauseRegistration kArch(&arch_missing);

}  // namespace

}  // namespace torchport::host::amd
