// docs/benchmarks.md has the measurements behind the rule: torch 2.13 on an Intel CPU with AMX,
// whose instructions were switched off one by one (ONEDNN_MAX_CPU_ISA, ATEN_CPU_CAPABILITY).
// Without instructions for the type, a product or a convolution takes 30 to 50 times as long as in
// float32. A convolution's gradient in float16 takes 170 times as long even with AVX512-FP16.
#include "runtime/virtual/operators/half_products.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <unordered_map>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "runtime/device/spec.h"
#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

namespace {

using at::ScalarType;

#if defined(__x86_64__)

struct CpuId {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

CpuId cpu_id(unsigned leaf, unsigned subleaf) {
  CpuId id;
  if (__get_cpuid_count(leaf, subleaf, &id.a, &id.b, &id.c, &id.d) == 0) return {};
  return id;
}

bool has_bit(unsigned word, unsigned bit) {
  return ((word >> bit) & 1U) != 0;
}

// The bits are those of CPUID's leaf 7 (Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 2A).
HalfInstructions read_host() {
  const CpuId features = cpu_id(7, 0);
  const CpuId more = cpu_id(7, 1);
  constexpr unsigned kAuthenticAmd = 0x68747541;  // the first four letters
  const bool amd = cpu_id(0, 0).b == kAuthenticAmd;
  HalfInstructions host;
  host.float16_products = has_bit(more.a, 21);
  // Intel's AVX512-BF16 without AMX takes 1.6 to 1.9 times as long as float32.
  host.bfloat16_products = has_bit(features.d, 22) || (amd && has_bit(more.a, 5));
  return host;
}

#else

// Not measured: the CPU's kernels are left as they are.
HalfInstructions read_host() {
  return {true, true};
}

#endif

// No instructions help a gradient in float16. kAlways: the CPU's kernel rounds where CUDA's does
// not (GridSampler.cu).
enum class HalfWork : std::uint8_t { kProduct, kGradient, kAlways };

// By the name without overload, and without the underscore of operators that work in place.
const std::unordered_map<std::string_view, HalfWork>& works() {
  static const std::unordered_map<std::string_view, HalfWork> kWorks = {
      {"aten::mm", HalfWork::kProduct},
      {"aten::addmm", HalfWork::kProduct},
      {"aten::bmm", HalfWork::kProduct},
      {"aten::baddbmm", HalfWork::kProduct},
      {"aten::addbmm", HalfWork::kProduct},
      {"aten::_addmm_activation", HalfWork::kProduct},
      {"aten::_native_multi_head_attention", HalfWork::kProduct},
      {"aten::_transformer_encoder_layer_fwd", HalfWork::kProduct},
      {"aten::mv", HalfWork::kProduct},
      {"aten::addmv", HalfWork::kProduct},
      {"aten::_convolution", HalfWork::kProduct},
      {"aten::convolution_backward", HalfWork::kGradient},
      {"aten::grid_sampler_2d", HalfWork::kAlways},
      {"aten::grid_sampler_3d", HalfWork::kAlways},
  };
  return kWorks;
}

}  // namespace

const HalfInstructions& HalfInstructions::of_this_host() {
  static const HalfInstructions kHost = [] {
    const char* text = std::getenv("TORCHPORT_HALF_INSTRUCTIONS");
    return text != nullptr && std::string_view(text) == "none" ? HalfInstructions{} : read_host();
  }();
  return kHost;
}

TypeSet slow_half_types(const c10::OperatorName& name, const HalfInstructions& cpu) {
  std::string_view base = name.name;
  if (base.ends_with('_')) base.remove_suffix(1);
  const auto found = works().find(base);
  if (found == works().end()) return 0;
  const HalfWork work = found->second;
  TypeSet slow = 0;
  if (work == HalfWork::kAlways || !cpu.bfloat16_products) slow |= type_set(ScalarType::BFloat16);
  if (work != HalfWork::kProduct || !cpu.float16_products) slow |= type_set(ScalarType::Half);
  return slow;
}

bool is_attention_slow(at::ScalarType type) {
  static const TypeSet kSlow = computed_in_float32({"aten::bmm", ""});
  return (kSlow & type_set(type)) != 0;
}

TypeSet computed_in_float32(const c10::OperatorName& name) {
  const Runtime& runtime = Runtime::get();
  if (runtime.kind_name() == "cuda" && runtime.random_numbers() == device::RandomNumbers::kCpu)
    return 0;
  return slow_half_types(name, HalfInstructions::of_this_host());
}

}  // namespace torchport::vdev
