// What of torch differs between releases, for deploying (since.h has the form).
#pragma once

#include <set>
#include <string>

#include <ATen/cpu/Utils.h>

#include "runtime/torch_releases/since.h"

namespace torchport {

// since 2.11: ATen/cpu/Utils.h has `get_cpu_capabilities()`
#define TORCHPORT_HAS_CPU_CAPABILITIES TORCHPORT_TORCH_SINCE(2, 11)

// Whether this CPU has instructions, by cpuinfo's name of them. It does not have those of an
// unknown name.
inline bool has_instructions(const std::string& name) {
#if TORCHPORT_HAS_CPU_CAPABILITIES
  static const auto kHas = at::cpu::get_cpu_capabilities();
  const auto found = kHas.find(name);
  return found != kHas.end() && found->second.isBool() && found->second.toBool();
#else
  if (name == "avx2" || name == "fma3" || name == "f16c") return at::cpu::is_avx2_supported();
  if (name == "avx512_vnni") return at::cpu::is_avx512_vnni_supported();
  if (name == "avx512_bf16") return at::cpu::is_avx512_bf16_supported();
  if (name == "amx_tile" || name == "amx_bf16" || name == "amx_int8")
    return at::cpu::is_amx_tile_supported();
  if (name == "amx_fp16") return at::cpu::is_amx_fp16_supported();
  static const std::set<std::string> kCommon = {"avx512_f", "avx512_dq", "avx512_vl", "avx512_bw"};
  return kCommon.contains(name) && at::cpu::is_avx512_supported();
#endif
}

}  // namespace torchport
