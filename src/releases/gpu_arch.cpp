#include "releases/gpu_arch.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"
#include "releases/cuda.h"
#include "releases/table.h"
#include "versions/version.h"

namespace torchport::releases {

namespace {

using versions::older;
using versions::parse_version;

constexpr std::string_view kPtx = "+ptx";

const GpuLifetime* lifetime_of(int number) {
  const auto& archs = table().gpu_archs;
  const auto found = std::find_if(archs.begin(), archs.end(),
                                  [&](const GpuLifetime& one) { return one.arch == number; });
  return found == archs.end() ? nullptr : &*found;
}

// `name` is in lower case.
const GpuName* named(std::string_view name) {
  const auto& names = table().gpu_names;
  const auto found = std::find_if(names.begin(), names.end(), [&](const GpuName& one) {
    return base::lower(one.name) == name;
  });
  return found == names.end() ? nullptr : &*found;
}

// Reads "8.6" or "10.0a".
bool parse_number(std::string_view text, GpuArch& arch) {
  if (text.ends_with('a') || text.ends_with('f')) {
    arch.suffix = text.back();
    text.remove_suffix(1);
  }
  const auto dot = text.find('.');
  if (dot == std::string_view::npos || dot + 2 != text.size()) return false;
  int major = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + dot, major);
  const char minor = text[dot + 1];
  if (error != std::errc() || end != text.data() + dot || major < 1 || major > 99 || minor < '0' ||
      minor > '9')
    return false;
  arch.number = 10 * major + (minor - '0');
  return true;
}

// A suggestion for "86" and "sm_86", which other tools than TORCH_CUDA_ARCH_LIST use.
std::string meant(std::string_view word) {
  for (const std::string_view prefix : {"sm_", "compute_"})
    if (word.starts_with(prefix)) word.remove_prefix(prefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || !lifetime_of(number)) return {};
  return to_text(GpuArch{number, {}, false});
}

base::Result<void> add_number(std::string_view word, bool ptx, const NvccArchs& nvcc,
                              ArchList& list) {
  GpuArch arch{0, {}, ptx};
  if (!parse_number(word, arch)) {
    const std::string hint = meant(word);
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("'{}' is not a compute capability{}", word,
                                  hint.empty() ? "" : fmt::format("; '{}' is one", hint)));
  }
  if (!nvcc.makes(arch)) {
    const std::string releases = releases_for(arch.number);
    arch.ptx = false;
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("this nvcc cannot compile for {}{}", to_text(arch),
                                  releases.empty() ? "" : ", which needs a toolkit " + releases));
  }
  list.archs.push_back(arch);
  return {};
}

// Adds those of `numbers` that nvcc supports, with PTX for the last one.
void add_group(std::string_view name, std::vector<int> numbers, bool ptx, const NvccArchs& nvcc,
               ArchList& list) {
  std::string missing;
  std::erase_if(numbers, [&](int number) {
    const GpuArch arch{number, {}, false};
    if (nvcc.makes(arch)) return false;
    missing += " " + to_text(arch);
    return true;
  });
  if (!missing.empty()) list.left_out.push_back(fmt::format("{}:{}", name, missing));
  for (const int number : numbers)
    list.archs.push_back({number, {}, ptx && number == numbers.back()});
}

std::vector<int> majors_of(const std::vector<int>& numbers) {
  std::vector<int> majors;
  for (const int number : numbers)
    if (majors.empty() || majors.back() / 10 != number / 10) majors.push_back(number);
  return majors;
}

base::Result<void> add_word(std::string_view word, const NvccArchs& nvcc, ArchList& list) {
  std::string name = base::lower(word);
  const bool ptx = name.ends_with(kPtx);
  if (ptx) name.resize(name.size() - kPtx.size());
  if (name == "native" || name == "auto") {
    list.asks_for_gpu = true;
  } else if (name == "all") {
    add_group(word, nvcc.numbers(), true, nvcc, list);
  } else if (name == "common" || name == "all-major") {
    add_group(word, majors_of(nvcc.numbers()), true, nvcc, list);
  } else {
    const GpuName* known = named(name);
    if (known == nullptr) return add_number(name, ptx, nvcc, list);
    const std::size_t before = list.archs.size();
    add_group(word, known->archs, known->ptx || ptx, nvcc, list);
    if (list.archs.size() == before)
      return base::fail(base::ErrorCode::kUsage,
                        fmt::format("this nvcc cannot compile for {}", word));
  }
  return {};
}

}  // namespace

std::string to_text(const GpuArch& arch) {
  return fmt::format("{}.{}{}{}", arch.number / 10, arch.number % 10, arch.suffix,
                     arch.ptx ? "+PTX" : "");
}

std::string to_text(const std::vector<GpuArch>& archs) {
  std::string text;
  for (const GpuArch& arch : archs) text += (text.empty() ? "" : ";") + to_text(arch);
  return text;
}

std::vector<std::string> gencode(const std::vector<GpuArch>& archs) {
  std::vector<std::string> flags;
  for (const GpuArch& arch : archs) {
    const std::string name = fmt::format("{}{}", arch.number, arch.suffix);
    flags.push_back(fmt::format("-gencode=arch=compute_{0},code=sm_{0}", name));
    if (arch.ptx) flags.push_back(fmt::format("-gencode=arch=compute_{0},code=compute_{0}", name));
  }
  return flags;
}

std::string cmake_architectures(const std::vector<GpuArch>& archs) {
  std::string text;
  for (const GpuArch& arch : archs)
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ";", arch.number, arch.suffix,
                        arch.ptx ? "" : "-real");
  return text;
}

NvccArchs::NvccArchs(std::string_view nvcc, const std::vector<std::string>& listed) : nvcc_(nvcc) {
  for (const std::string& name : listed) {
    if (!name.starts_with("sm_")) continue;
    const auto number = parse_version(std::string_view(name).substr(3));
    if (!number.empty()) numbers_.push_back(number.front());
  }
  if (numbers_.empty())
    for (const auto& [arch, first, last, torch, driver] : table().gpu_archs)
      if (!older(nvcc, first) && (last.empty() || !older(last, nvcc))) numbers_.push_back(arch);
  std::sort(numbers_.begin(), numbers_.end());
  numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
}

bool NvccArchs::makes(const GpuArch& arch) const {
  if (!std::binary_search(numbers_.begin(), numbers_.end(), arch.number)) return false;
  // From the "CUDA C++ Programming Guide", feature set compiler targets: for one architecture since
  // 9.0 and CUDA 12.0, for a family since 10.0 and CUDA 12.9.
  if (arch.suffix == "a") return arch.number >= 90 && !older(nvcc_, "12.0");
  if (arch.suffix == "f") return arch.number >= 100 && !older(nvcc_, "12.9");
  return true;
}

std::string releases_for(int number) {
  const GpuLifetime* one = lifetime_of(number);
  if (one == nullptr) return {};
  if (one->last.empty()) return fmt::format("from CUDA {} on", one->first);
  return fmt::format("from CUDA {} to {}", one->first, one->last);
}

std::vector<GpuArch> merged(std::vector<GpuArch> archs) {
  std::stable_sort(archs.begin(), archs.end(), [](const GpuArch& a, const GpuArch& b) {
    return std::tie(a.number, a.suffix) < std::tie(b.number, b.suffix);
  });
  std::vector<GpuArch> each;
  for (const GpuArch& arch : archs) {
    if (!each.empty() && each.back().number == arch.number && each.back().suffix == arch.suffix)
      each.back().ptx = each.back().ptx || arch.ptx;
    else
      each.push_back(arch);
  }
  return each;
}

base::Result<ArchList> parse_arch_list(std::string_view text, const NvccArchs& nvcc) {
  ArchList list;
  constexpr std::string_view kSeparators = "; ,\t\n\r";
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(kSeparators), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (auto added = add_word(word, nvcc, list); !added) return tl::unexpected(added.error());
  }
  list.archs = merged(std::move(list.archs));
  return list;
}

int number_of(std::string_view capability) {
  const auto numbers = versions::parse_version(capability);
  return numbers.size() == 2 ? 10 * numbers[0] + numbers[1] : 0;
}

LastBuild last_build_for(std::string_view capability) {
  for (const TorchRelease& release : table().releases)
    for (const CudaBuild& build : release.cuda) {
      std::vector<std::string> archs;
      for (const int arch : build.archs) archs.push_back(fmt::format("sm_{}", arch));
      if (runs_on(archs, capability)) return {release.version, build.cuda};
    }
  const GpuLifetime* one = lifetime_of(number_of(capability));
  return {one == nullptr ? std::string() : one->last_torch, {}};
}

int last_driver_for(std::string_view capability) {
  const GpuLifetime* one = lifetime_of(number_of(capability));
  return one == nullptr ? 0 : one->last_driver;
}

}  // namespace torchport::releases
