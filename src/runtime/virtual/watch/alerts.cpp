#include "runtime/virtual/watch/alerts.h"

#include <array>
#include <atomic>
#include <string_view>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

namespace {

using c10::IValue;

constexpr std::int64_t kWarn = 1;
constexpr std::int64_t kError = 2;

std::atomic<std::int64_t> sync_mode{0};

bool on_device(const IValue& value) {
  return value.isTensor() && value.toTensor().defined() && is_virtual(value.toTensor().device());
}

bool floats(at::ScalarType type) {
  return c10::isFloatingType(type) || c10::isComplexType(type);
}

}  // namespace

void set_sync_debug_mode(std::int64_t mode) {
  sync_mode = mode;
}

std::int64_t sync_debug_mode() {
  return sync_mode;
}

// c10/cuda/CUDAFunctions.cpp: warn_or_error_on_sync
void note_synchronization() {
  constexpr const char* kText = "called a synchronizing CUDA operation";
  TORCH_CHECK(sync_mode != kError, kText);
  if (sync_mode == kWarn) {
    c10::warn(c10::Warning(c10::UserWarning(),
                           {"warn_or_error_on_sync", "c10/cuda/CUDAFunctions.cpp", 0},
                           std::string(kText), false));
  }
}

Alerts::Alerts(const c10::FunctionSchema& schema) {
  struct Caller {
    std::string_view op;
    std::string_view name;
    Unless unless = Unless::kNothing;
  };
  // The kernels' own names for themselves, in aten/src/ATen/native/cuda.
  static constexpr std::array<Caller, 26> kCallers{{
      {"_adaptive_avg_pool2d_backward", "adaptive_avg_pool2d_backward_cuda"},
      {"_adaptive_avg_pool3d_backward", "adaptive_avg_pool3d_backward_cuda"},
      {"_ctc_loss_backward", "ctc_loss_backward_gpu"},
      {"_embedding_bag_backward", "embedding_bag_backward_cuda_max", Unless::kNotMax},
      {"_embedding_bag_dense_backward", "embedding_bag_backward_cuda_max", Unless::kNotMax},
      {"adaptive_max_pool2d_backward", "adaptive_max_pool2d_backward_cuda"},
      {"avg_pool3d_backward", "avg_pool3d_backward_cuda"},
      {"bincount", "_bincount_cuda", Unless::kNoWeights},
      {"cumsum", "cumsum_cuda_kernel", Unless::kInteger},
      {"cumsum_", "cumsum_cuda_kernel", Unless::kInteger},
      {"fractional_max_pool2d_backward", "fractional_max_pool2d_backward_cuda"},
      {"fractional_max_pool3d_backward", "fractional_max_pool3d_backward_cuda"},
      {"grid_sampler_2d_backward", "grid_sampler_2d_backward_cuda"},
      {"grid_sampler_3d_backward", "grid_sampler_3d_backward_cuda"},
      {"histc", "_histc_cuda with floating point input", Unless::kInteger},
      {"kthvalue", "kthvalue CUDA"},
      {"nll_loss2d_forward", "nll_loss2d_forward_out_cuda_template", Unless::kNoReduction},
      {"put_", "put_"},
      {"reflection_pad1d_backward", "reflection_pad1d_backward_out_cuda"},
      {"reflection_pad2d_backward", "reflection_pad2d_backward_cuda"},
      {"reflection_pad3d_backward", "reflection_pad3d_backward_out_cuda"},
      {"upsample_bicubic2d_backward", "upsample_bicubic2d_backward_out_cuda"},
      {"upsample_bilinear2d_backward", "upsample_bilinear2d_backward_out_cuda"},
      {"upsample_linear1d_backward", "upsample_linear1d_backward_out_cuda"},
      {"upsample_trilinear3d_backward", "upsample_trilinear3d_backward_out_cuda"},
      {"median.dim_values", "median CUDA with indices output"},
  }};
  // Those whose kernels copy a number or a size to the host; index.Tensor and index_put by way of
  // nonzero.
  struct Waiting {
    std::string_view op;
    Waits waits;
  };
  static constexpr std::array<Waiting, 19> kWaiting{{
      {"_coalesce", Waits::kAlways},
      {"_index_put_impl_", Waits::kIndex},
      {"_linalg_check_errors", Waits::kAlways},
      {"_local_scalar_dense", Waits::kAlways},
      {"_unique", Waits::kAlways},
      {"_unique2", Waits::kAlways},
      {"bincount", Waits::kAlways},
      {"copy_", Waits::kCopy},
      {"equal", Waits::kAlways},
      {"index.Tensor", Waits::kIndex},
      {"index.Tensor_out", Waits::kIndex},
      {"index_put", Waits::kIndex},
      {"index_put_", Waits::kIndex},
      {"masked_select", Waits::kAlways},
      {"nonzero", Waits::kAlways},
      {"repeat_interleave.Tensor", Waits::kSizes},
      {"unique_consecutive", Waits::kAlways},
      {"unique_dim", Waits::kAlways},
      {"unique_dim_consecutive", Waits::kAlways},
  }};
  if (schema.name().rfind("aten::", 0) != 0 ||
      Runtime::get().kind().dense != c10::DispatchKey::CUDA)
    return;
  const std::string name = schema.name().substr(6);
  const std::string full =
      schema.overload_name().empty() ? name : name + "." + schema.overload_name();
  for (const Caller& known : kCallers) {
    if (known.op != name && known.op != full && "nan" + std::string(known.op) != full) continue;
    caller_ = known.name;
    unless_ = known.unless;
  }
  for (const Waiting& known : kWaiting) {
    if (known.op == name || known.op == full) waits_ = known.waits;
  }
  // The argument that the exceptions look at.
  for (const char* argument : {"dtype", "mode", "reduction", "weights"}) {
    if (const auto index = schema.argumentIndexWithName(argument)) argument_ = *index;
  }
}

void Alerts::check(const IValue* arguments) const {
  if (!caller_.empty() && at::globalContext().deterministicAlgorithms() &&
      !deterministic(arguments))
    at::Context::alertNotDeterministic(caller_);
  if (waits_ != Waits::kNever && sync_mode != 0 && waits(arguments)) note_synchronization();
}

bool Alerts::deterministic(const IValue* arguments) const {
  constexpr std::int64_t kNone = 0;  // of reductions
  constexpr std::int64_t kMax = 2;   // of the modes of embedding bags
  const IValue told = argument_ >= 0 ? arguments[argument_] : IValue();
  switch (unless_) {
    case Unless::kNothing:
      return false;
    case Unless::kInteger:
      return !floats(told.isInt() ? told.toScalarType() : arguments[0].toTensor().scalar_type());
    case Unless::kNoReduction:
      return told.toInt() == kNone;
    case Unless::kNoWeights:
      return !on_device(told);
    case Unless::kNotMax:
      return told.toInt() != kMax;
  }
  return false;
}

bool Alerts::waits(const IValue* arguments) const {
  switch (waits_) {
    case Waits::kNever:
      return false;
    case Waits::kAlways:
      return true;
    case Waits::kCopy: {
      const bool blocking = !arguments[2].toBool();
      const bool crosses = on_device(arguments[0]) != on_device(arguments[1]);
      return blocking && crosses && arguments[0].toTensor().numel() > 0;
    }
    case Waits::kIndex:
      for (const IValue& index : arguments[1].toListRef()) {
        if (!index.isTensor() || !index.toTensor().defined()) continue;
        const at::ScalarType type = index.toTensor().scalar_type();
        if (type == at::kBool || type == at::kByte || !on_device(index)) return true;
      }
      return false;
    case Waits::kSizes:
      return !arguments[1].isInt();  // output_size
  }
  return false;
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("set_sync_debug_mode(int mode) -> ()", &set_sync_debug_mode);
  library.def("sync_debug_mode() -> int", &sync_debug_mode);
}

}  // namespace torchport::vdev
