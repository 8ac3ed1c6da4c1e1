#include "releases/published.h"

#include <algorithm>

#include <fmt/format.h>

#include "releases/versions.h"

namespace torchport::host {

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

std::string index_of(std::string_view variant) {
  return fmt::format("{}/{}", kIndex, variant);
}

RocmBuild rocm_build_of(std::string_view torch) {
  // The names of the wheels (torch-2.13.0+rocm7.2-cp312-cp312-manylinux_2_28_x86_64.whl); the
  // architectures are PYTORCH_ROCM_ARCH of pytorch's .ci/docker/manywheel/build.sh.
  if (same_minor(torch, "2.12") || same_minor(torch, "2.13"))
    return {"7.2",
            {"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100",
             "gfx1101", "gfx1102", "gfx1150", "gfx1151", "gfx1200", "gfx1201"}};
  return {};
}

std::vector<std::string> pythons_of(std::string_view torch) {
  // Classifiers of the wheels' metadata, less 3.15, which only 2.13 names.
  if (same_minor(torch, "2.12") || same_minor(torch, "2.13"))
    return {"3.10", "3.11", "3.12", "3.13", "3.14"};
  return {};
}

std::string pip_arguments(std::string_view torch, std::string_view variant) {
  // pytorch.org, "Installing previous versions of PyTorch".
  if (older(torch, "1.11"))
    return fmt::format("torch=={}+{} -f {}/torch_stable.html", torch, variant, kIndex);
  if (older(torch, "2.0"))
    return fmt::format("torch=={}+{} --extra-index-url {}", torch, variant, index_of(variant));
  return fmt::format("torch=={} --index-url {}", torch, index_of(variant));
}

}  // namespace torchport::host
