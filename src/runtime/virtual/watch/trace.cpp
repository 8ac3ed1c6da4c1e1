#include "runtime/virtual/watch/trace.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/DeviceType.h>
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

bool is_plain(const Tensor& tensor) {
  return tensor.defined() && tensor.layout() == c10::kStrided && tensor.has_storage() &&
         !tensor.is_quantized();
}

// The elements on the host, as doubles; a complex one is two.
Tensor wide_copy(const Tensor& tensor) {
  Aliases aliases;
  Tensor plain = aliases.of(tensor, Aliases::Use::kReads).resolve_conj().resolve_neg();
  if (plain.is_complex()) plain = at::view_as_real(plain);
  return plain.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true).contiguous();
}

// What the steps of this thread found their parameters to be.
thread_local std::vector<std::vector<Tensor>> parameters_before;

// How much a step changed its parameters, all of them taken together.
std::string update_of(const std::vector<Tensor>& before, const std::vector<Tensor>& parameters) {
  std::uint64_t checksum = 0;
  double sum = 0;
  double sum_abs = 0;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < parameters.size() && i < before.size(); ++i) {
    if (!before[i].defined() || !is_plain(parameters[i])) continue;
    Tensor change = wide_copy(parameters[i]);
    if (change.sizes() != before[i].sizes()) continue;
    change.sub_(before[i]);
    checksum = XXH3_64bits_withSeed(change.const_data_ptr(), change.nbytes(), checksum);
    sum += change.sum().item<double>();
    sum_abs += change.abs().sum().item<double>();
    elements += change.numel();
  }
  const auto count = static_cast<double>(std::max<std::int64_t>(elements, 1));
  return fmt::format("Update[{}]:{:016x}:{:.9g}:{:.9g}", elements, checksum, sum / count,
                     sum_abs / count);
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
  std::set<c10::DeviceType> kinds;
  const auto add_one = [&](const Tensor& tensor) {
    text += '\t';
    text += summary_of(tensor);
    any = true;
    if (tensor.defined()) kinds.insert(tensor.device().type());
  };
  for (const IValue& value : values) {
    if (value.isTensor()) {
      add_one(value.toTensor());  // an undefined tensor is a result, too: a gradient of zeros
    } else {
      observer::each_tensor(value, add_one);
    }
  }
  if (any) write(kinds, text);
}

void TraceWriter::write(const std::set<c10::DeviceType>& kinds, const std::string& line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const c10::DeviceType kind : kinds) {
    if (seen_.insert(kind).second)
      std::fprintf(file_, "#device\t%s\n", c10::DeviceTypeName(kind, true).c_str());
  }
  std::fprintf(file_, "%s\n", line.c_str());
}

void TraceWriter::begin_step(const std::vector<Tensor>& parameters) {
  const at::AutoDispatchBelowADInplaceOrView below;
  std::vector<Tensor>& before = parameters_before.emplace_back();
  for (const Tensor& one : parameters) before.push_back(is_plain(one) ? wide_copy(one) : Tensor());
}

void TraceWriter::end_step(const std::vector<Tensor>& parameters) {
  if (parameters_before.empty()) return;
  const at::AutoDispatchBelowADInplaceOrView below;
  const std::vector<Tensor> before = std::move(parameters_before.back());
  parameters_before.pop_back();
  std::string text = fmt::format("torchport::step\t{}", source_line());
  for (const Tensor& one : parameters) {
    text += '\t';
    text += summary_of(one);
  }
  text += '\t';
  text += update_of(before, parameters);
  write({}, text);
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
