#include "runtime/virtual/watch/trace.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/ScalarType.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdio_ext.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/observer/tensors_in.h"
#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/watch/source_lines.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;

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

std::FILE* open_new(const char* path) {
  const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  return descriptor < 0 ? nullptr : fdopen(descriptor, "w");
}

}  // namespace

std::shared_ptr<TraceWriter> TraceWriter::of_environment() {
  static const auto& trace =
      *new std::shared_ptr<TraceWriter>([]() -> std::shared_ptr<TraceWriter> {
        const char* path = std::getenv("TORCHPORT_TRACE");
        std::FILE* file = path == nullptr ? nullptr : open_new(path);
        return file == nullptr ? nullptr : std::make_shared<TraceWriter>(file);
      }());
  return trace != nullptr && trace->active() ? trace : nullptr;
}

void TraceWriter::observe(observer::Call& call) {
  const observer::OperatorSemantics& semantics = call.semantics();
  if (!semantics.computes()) return call.proceed();
  // An operator that returns nothing writes to these.
  std::vector<IValue> written;
  if (semantics.results == 0) {
    for (const std::uint16_t i : semantics.written) written.push_back(call.arguments()[i]);
  }
  call.proceed();
  add(call, semantics.results == 0 ? c10::ArrayRef<IValue>(written) : call.results());
}

void TraceWriter::add(const observer::Call& call, c10::ArrayRef<IValue> values) {
  const at::AutoDispatchBelowADInplaceOrView below;
  std::string text = fmt::format("{}\t{}", call.op().operator_name().name, source_line());
  bool any = false;
  const auto add_one = [&](const Tensor& tensor) {
    text += '\t';
    text += summary_of(tensor);
    any = true;
  };
  for (const IValue& value : values) {
    if (value.isTensor()) {
      add_one(value.toTensor());  // an undefined tensor is a result, too: a gradient of zeros
    } else {
      observer::each_tensor(value, add_one);
    }
  }
  if (!any) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::fprintf(file_, "%s\n", text.c_str());
}

void TraceWriter::after_fork_in_child() noexcept {
  __fpurge(file_);
  stop();
}

void TraceWriter::flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::fflush(file_);
}

}  // namespace torchport::vdev
