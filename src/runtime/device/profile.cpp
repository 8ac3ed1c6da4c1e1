#include "runtime/device/profile.h"

#include <algorithm>

namespace torchport::device {

namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;

}  // namespace

// Sources: the vendors' data sheets and, for the figures that only the driver tells (total_memory
// below the nominal size, shared memory), what get_device_properties() prints on such devices.
const std::vector<Profile>& profiles() {
  static const std::vector<Profile> kProfiles = {
      {"a100-80g", "cuda", "NVIDIA A100-SXM4-80GB", 81'152 * kMiB, 8, 0, 108, 40 * kMiB, 2048,
       65536, 48 * kKiB, 163 * kKiB, 164 * kKiB, 1'410'000, 1'593'000, 5120},
      {"a100-40g", "cuda", "NVIDIA A100-SXM4-40GB", 40'369 * kMiB, 8, 0, 108, 40 * kMiB, 2048,
       65536, 48 * kKiB, 163 * kKiB, 164 * kKiB, 1'410'000, 1'215'000, 5120},
      {"h100-80g", "cuda", "NVIDIA H100 80GB HBM3", 81'090 * kMiB, 9, 0, 132, 50 * kMiB, 2048,
       65536, 48 * kKiB, 227 * kKiB, 228 * kKiB, 1'980'000, 2'619'000, 5120},
      {"h200", "cuda", "NVIDIA H200", 143'158 * kMiB, 9, 0, 132, 60 * kMiB, 2048, 65536, 48 * kKiB,
       227 * kKiB, 228 * kKiB, 1'980'000, 3'201'000, 6144},
      {"v100-16g", "cuda", "Tesla V100-SXM2-16GB", 16'151 * kMiB, 7, 0, 80, 6 * kMiB, 2048, 65536,
       48 * kKiB, 96 * kKiB, 96 * kKiB, 1'530'000, 877'000, 4096},
      {"v100-32g", "cuda", "Tesla V100-SXM2-32GB", 32'501 * kMiB, 7, 0, 80, 6 * kMiB, 2048, 65536,
       48 * kKiB, 96 * kKiB, 96 * kKiB, 1'530'000, 877'000, 4096},
      {"t4", "cuda", "Tesla T4", 14'914 * kMiB, 7, 5, 40, 4 * kMiB, 1024, 65536, 48 * kKiB,
       64 * kKiB, 64 * kKiB, 1'590'000, 5'001'000, 256},
      {"l4", "cuda", "NVIDIA L4", 22'491 * kMiB, 8, 9, 58, 48 * kMiB, 1536, 65536, 48 * kKiB,
       99 * kKiB, 100 * kKiB, 2'040'000, 6'251'000, 192},
      {"rtx-3090", "cuda", "NVIDIA GeForce RTX 3090", 24'253 * kMiB, 8, 6, 82, 6 * kMiB, 1536,
       65536, 48 * kKiB, 99 * kKiB, 100 * kKiB, 1'695'000, 9'751'000, 384},
      {"rtx-4090", "cuda", "NVIDIA GeForce RTX 4090", 24'082 * kMiB, 8, 9, 128, 72 * kMiB, 1536,
       65536, 48 * kKiB, 99 * kKiB, 100 * kKiB, 2'520'000, 10'501'000, 384},
      {"max-1550", "xpu", "Intel(R) Data Center GPU Max 1550", 65'536 * kMiB, 12, 60, 448,
       204 * kMiB, 1024, 0, 128 * kKiB, 128 * kKiB, 128 * kKiB, 1'600'000, 3'200'000, 8192},
      {"apple-m2", "mps", "Apple M2", 16 * kGiB, 0, 0, 10, 0, 1024, 0, 32 * kKiB, 32 * kKiB,
       32 * kKiB, 1'398'000, 0, 128},
  };
  return kProfiles;
}

const Profile* find_profile(std::string_view name) {
  const auto found = std::find_if(profiles().begin(), profiles().end(),
                                  [&](const Profile& profile) { return profile.name == name; });
  return found == profiles().end() ? nullptr : &*found;
}

const Profile* default_profile(std::string_view kind) {
  const auto found = std::find_if(profiles().begin(), profiles().end(),
                                  [&](const Profile& profile) { return profile.kind == kind; });
  return found == profiles().end() ? nullptr : &*found;
}

}  // namespace torchport::device
