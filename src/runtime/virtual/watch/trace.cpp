#include "runtime/virtual/watch/trace.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/ScalarType.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <stdio_ext.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/virtual/core/alias.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;

// Operators that make room, move, or only look at a tensor another way.
bool leaves_no_line(std::string_view name) {
  static constexpr std::array<std::string_view, 27> kNames{"aten::to",
                                                           "aten::_to_copy",
                                                           "aten::cuda",
                                                           "aten::cpu",
                                                           "aten::copy_",
                                                           "aten::detach",
                                                           "aten::detach_",
                                                           "aten::alias",
                                                           "aten::contiguous",
                                                           "aten::clone",
                                                           "aten::lift",
                                                           "aten::lift_fresh",
                                                           "aten::set_",
                                                           "aten::resize_",
                                                           "aten::record_stream",
                                                           "aten::pin_memory",
                                                           "aten::_pin_memory",
                                                           "aten::is_pinned",
                                                           "aten::requires_grad_",
                                                           "aten::set_data",
                                                           "aten::item",
                                                           "aten::_local_scalar_dense",
                                                           "aten::new_empty",
                                                           "aten::empty_like",
                                                           "aten::result_type",
                                                           "aten::_version",
                                                           "aten::resolve_conj"};
  for (const std::string_view known : kNames) {
    if (name == known) return true;
  }
  return name.starts_with("aten::empty") || name.starts_with("aten::new_empty") ||
         name.starts_with("torchport::") || name.starts_with("profiler::");
}

std::string shape_of(const Tensor& tensor) {
  return fmt::format("{}[{}]", c10::toString(tensor.scalar_type()),
                     fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ","));
}

std::string summary_of(const Tensor& result) {
  if (!result.defined()) return "none";
  if (result.layout() != c10::kStrided || !result.has_storage() || result.is_quantized())
    return shape_of(result);
  Aliases aliases;
  Tensor plain = aliases.of(result).resolve_conj().resolve_neg().contiguous();
  const auto bytes = static_cast<std::size_t>(plain.numel()) * plain.itemsize();
  const auto checksum = XXH3_64bits(plain.const_data_ptr(), bytes);
  double mean = 0;
  double mean_abs = 0;
  if (plain.numel() > 0) {
    if (plain.is_complex()) plain = at::view_as_real(plain);
    const Tensor wide = plain.to(at::kDouble);
    mean = wide.mean().item<double>();
    mean_abs = wide.abs().mean().item<double>();
  }
  return fmt::format("{}:{:016x}:{:.9g}:{:.9g}", shape_of(result), checksum, mean, mean_abs);
}

// Whether this process is a forked child of the one that opened the trace.
bool forked = false;

std::FILE* open_new(const char* path) {
  const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  return descriptor < 0 ? nullptr : fdopen(descriptor, "w");
}

}  // namespace

Trace* Trace::of_environment() {
  static Trace*& trace = *new Trace*([]() -> Trace* {
    const char* path = std::getenv("TORCHPORT_TRACE");
    std::FILE* file = path == nullptr ? nullptr : open_new(path);
    if (file == nullptr) return nullptr;
    // A forked child (a worker of a DataLoader) is another process: it writes nothing, not even
    // what its parent had not written yet.
    pthread_atfork(nullptr, nullptr, [] {
      if (Trace* own = of_environment()) __fpurge(own->file_);
      forked = true;
    });
    return new Trace(file);
  }());
  return forked ? nullptr : trace;
}

bool Trace::wants(const c10::OperatorHandle& op) {
  // What returns a view of its argument computes nothing.
  for (const c10::Argument& result : op.schema().returns()) {
    if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) return false;
  }
  return !leaves_no_line(op.operator_name().name);
}

void Trace::add(const c10::OperatorHandle& op, c10::ArrayRef<IValue> values, std::int64_t line) {
  const at::AutoDispatchBelowADInplaceOrView below;
  std::string text = fmt::format("{}\t{}", op.operator_name().name, line);
  bool any = false;
  const auto add_one = [&](const Tensor& tensor) {
    text += '\t';
    text += summary_of(tensor);
    any = true;
  };
  for (const IValue& value : values) {
    if (value.isTensor()) add_one(value.toTensor());
    if (!value.isTensorList()) continue;
    for (const Tensor& tensor : value.toTensorVector()) add_one(tensor);
  }
  if (!any) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::fprintf(file_, "%s\n", text.c_str());
}

void Trace::flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::fflush(file_);
}

}  // namespace torchport::vdev
