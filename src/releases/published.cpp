#include "releases/published.h"

#include <algorithm>

#include <fmt/format.h>

#include "versions/version.h"

namespace torchport::releases {

namespace {

constexpr std::string_view kIndex = "https://download.pytorch.org/whl";

bool digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string variant_of_cuda(std::string_view cuda) {
  std::string variant = "cu";
  for (const char c : cuda)
    if (c != '.') variant += c;
  return variant;
}

std::string cuda_of_variant(std::string_view variant) {
  if (!variant.starts_with("cu") || variant.size() < 4 || !digits(variant.substr(2))) return {};
  return fmt::format("{}.{}", variant.substr(2, variant.size() - 3), variant.back());
}

std::string rocm_of_variant(std::string_view variant) {
  constexpr std::string_view kPrefix = "rocm";
  if (!variant.starts_with(kPrefix)) return {};
  const std::string_view version = variant.substr(kPrefix.size());
  return versions::parse_version(version).empty() ? std::string() : std::string(version);
}

std::string index_of(std::string_view variant) {
  return fmt::format("{}/{}", kIndex, variant);
}

namespace {

// Where pip finds the build; from pytorch.org, "Installing previous versions of PyTorch".
std::string source_of(std::string_view torch, std::string_view variant) {
  if (versions::older(torch, "1.11")) return fmt::format("-f {}/torch_stable.html", kIndex);
  return fmt::format("{} {}", versions::older(torch, "2.0") ? "--extra-index-url" : "--index-url",
                     index_of(variant));
}

}  // namespace

std::string requirement_of_build(std::string_view torch, std::string_view variant) {
  return fmt::format("torch=={}+{}", torch, variant);
}

std::string pip_arguments(std::string_view torch, std::string_view variant) {
  if (versions::older(torch, "2.0")) return pip_arguments_to_replace(torch, variant);
  return fmt::format("torch=={} {}", torch, source_of(torch, variant));
}

std::string pip_arguments_to_replace(std::string_view torch, std::string_view variant) {
  return fmt::format("{} {}", requirement_of_build(torch, variant), source_of(torch, variant));
}

}  // namespace torchport::releases
