// Answers what ATen asks of a device kind that is not in torch and renames PrivateUse1, and
// registers autocast for it. A backend's own package does this when it is imported; virtual devices
// exist before torch does.
#include <string>

#include <ATen/autocast_mode.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <torch/library.h>

#include "runtime/virtual/hooks/hooks.h"

namespace at {
namespace {

namespace vdev = torchport::vdev;

struct PrivateUse1Hooks final
    : vdev::Hooks<PrivateUse1HooksInterface, c10::DeviceType::PrivateUse1> {};

// The lists of operators are PyTorch's own (ATen/autocast_mode.h), as AutocastXPU uses them.
void register_autocast(torch::Library& m) {
#define LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define FP32_SET_OPT_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(LOWER_PRECISION)
  AT_FORALL_FP32(FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(FP32_SET_OPT_DTYPE)
  AT_FORALL_PROMOTE(PROMOTE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
#undef LOWER_PRECISION
#undef FP32
#undef FP32_SET_OPT_DTYPE
#undef PROMOTE
}

struct StartPrivateUse1 {
  StartPrivateUse1() {
    const torchport::devices::DeviceKind& kind = vdev::Runtime::get().description();
    if (!kind.out_of_tree) return;
    c10::register_privateuse1_backend(std::string(kind.name));
    static auto& hooks = *new PrivateUse1Hooks();
    RegisterPrivateUse1HooksInterface(&hooks);
    constexpr auto kKey = c10::DispatchKey::AutocastPrivateUse1;
    static auto* all = new torch::Library(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
    all->fallback(torch::CppFunction::makeFallthrough());
    static auto* aten = new torch::Library(torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__);
    register_autocast(*aten);
  }
};

const StartPrivateUse1 kPrivateUse1;

}  // namespace
}  // namespace at
