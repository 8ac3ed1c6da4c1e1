#include "runtime/virtual/core/device_check.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <ATen/core/op_registration/adaption.h>
#include <c10/util/Exception.h>

#include "runtime/observer/tensors_in.h"
#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

namespace {

using c10::Device;
using c10::IValue;
using observer::each_tensor;

enum class Source : std::uint8_t { kStructured, kWrapper, kOutputs, kIterator };
constexpr unsigned kCUDA = 1;
constexpr unsigned kMPS = 2;
constexpr unsigned kSparseCUDA = 4;
constexpr unsigned kSparseCsrCUDA = 8;

struct Row {
  std::string_view name;
  Source source;
  unsigned backends;
};

// Sorted by name.
constexpr Row kTable[] = {
#include "device_checks.inc"
};

std::string full_name(const c10::FunctionSchema& schema) {
  return schema.overload_name().empty() ? schema.name()
                                        : schema.name() + "." + schema.overload_name();
}

// The bit in `Row::backends` of the backend whose checks the kind has. A kind may name only a
// backend that is in the table (src/devices/device_kind_test.cpp).
unsigned backend_of(std::string_view checked_as) {
  if (checked_as == "CUDA") return kCUDA;
  if (checked_as == "MPS") return kMPS;
  TORCH_CHECK(false, "torchport: there is no table of device checks for the backend ", checked_as);
}

// The kernels of sparse tensors that CUDA has; none for the dense ones and those of other kinds.
unsigned sparse_backend_of(c10::DispatchKey key) {
  const KindKeys& kind = Runtime::get().kind();
  if (Runtime::get().description().checked_as != "CUDA") return 0;
  return key == kind.sparse ? kSparseCUDA : key == kind.sparse_csr ? kSparseCsrCUDA : 0;
}

const Row* find(const std::string& name, unsigned backend) {
  const auto* row = std::lower_bound(std::begin(kTable), std::end(kTable), name,
                                     [](const Row& a, const std::string& b) { return a.name < b; });
  const bool found = row != std::end(kTable) && row->name == name && (row->backends & backend) != 0;
  return found ? row : nullptr;
}

// The name that torchgen gives to the wrapper: wrapper_CUDA__index_select for an operator that is
// not structured, whose overload comes first; else wrapper_CUDA_mm, wrapper_CUDA_mm_out_out and
// wrapper_CUDA_sort_out_values_stable (NativeSignature in torchgen/api/types/signatures.py).
std::string method_name(const c10::FunctionSchema& schema, Source source, bool has_out,
                        c10::DispatchKey key) {
  std::string name = std::string("wrapper_") + c10::toString(key) + "_";
  if (source == Source::kWrapper) name += schema.overload_name() + "_";
  name += schema.name().substr(schema.name().find("::") + 2);
  if (has_out) name += "_out";
  if (source != Source::kWrapper && !schema.overload_name().empty())
    name += "_" + schema.overload_name();
  return name;
}

bool is_write(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

// As check_indices_on_cpu_or_selfdevice in aten/src/ATen/native/TensorAdvancedIndexing.cpp.
void check_indices(const IValue& self, const IValue& indices) {
  const Device device = self.toTensor().device();
  each_tensor(indices, [&](const at::Tensor& index) {
    TORCH_CHECK(index.is_cpu() || index.device() == device, "indices should be either on ",
                at::kCPU, " or on the same device as the indexed tensor (", device, ")");
  });
}

// Whether oneDNN convolves an input that is on the CPU (ConvParams::use_mkldnn in Convolution.cpp,
// with several threads).
bool uses_onednn(const at::Tensor& input, const at::Tensor& weight, std::int64_t groups) {
  constexpr std::int64_t kSmall = 20480;
  constexpr std::int64_t kSmallFilter = 3;
  const at::ScalarType type = input.scalar_type();
  if (at::isReducedFloatingType(type)) return true;
  const bool large_filter =
      weight.dim() > 3 && weight.size(-1) > kSmallFilter && weight.size(-2) > kSmallFilter;
  return type == at::kFloat &&
         (groups > 1 || large_filter || input.size(0) > 1 || input.numel() > kSmall);
}

// The host's own kernel is asked for a convolution with a weight on the device, by the weight's
// key: its wrapper checks the devices.
void check_slow_convolution(const IValue* arguments) {
  const at::Tensor& input = arguments[0].toTensor();
  const at::Tensor& weight = arguments[1].toTensor();
  const bool is_plane = input.dim() == 3 || input.dim() == 4;
  if (!input.is_cpu() || weight.is_cpu() || !is_plane || weight.dim() != input.dim() ||
      uses_onednn(input, weight, arguments[8].toInt()))
    return;
  const auto dilation = arguments[5].toIntVector();
  const bool is_dilated =
      std::any_of(dilation.begin(), dilation.end(), [](auto step) { return step != 1; });
  const char* method = arguments[6].toBool() ? "wrapper_CUDA_slow_conv_transpose2d"
                       : is_dilated          ? "wrapper_CUDA__slow_conv_dilated2d"
                                             : "wrapper_CUDA___slow_conv2d_forward";
  std::optional<Device> common = input.device();
  c10::impl::check_and_update_common_device(common, weight, method, "weight");
}

// As check_input_same_type_as_parameters in aten/src/ATen/native/Convolution.cpp. Python shows
// CUDAFloatType as torch.cuda.FloatTensor.
void check_devices_of_convolution(const IValue* arguments) {
  const at::Tensor& input = arguments[0].toTensor();
  const at::Tensor& weight = arguments[1].toTensor();
  if (Runtime::get().description().checked_as == "CUDA") check_slow_convolution(arguments);
  TORCH_CHECK(input.options().type_equal(weight.options()), "Input type (", input.toString(),
              ") and weight type (", weight.toString(), ") should be the same");
  const at::Tensor bias = arguments[2].isTensor() ? arguments[2].toTensor() : at::Tensor();
  TORCH_CHECK(!bias.defined() || input.options().type_equal(bias.options()), "Input type (",
              input.toString(), ") and bias type (", bias.toString(), ") should be the same");
  // cuDNN's wrapper checks this.
  std::optional<Device> common;
  each_tensor(arguments[0], [&](const at::Tensor& tensor) { common = tensor.device(); });
  for (const std::size_t i : {1, 2}) {
    each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      c10::impl::check_and_update_common_device(common, tensor, "wrapper_CUDA__cudnn_convolution",
                                                i == 1 ? "weight" : "bias");
    });
  }
}

}  // namespace

DeviceCheck::DeviceCheck(const c10::FunctionSchema& schema, c10::DispatchKey key) {
  choose_rule(schema, key);
  if (rule_ == Rule::kNone) return;
  const auto& all = schema.arguments();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].type()->str().find("Tensor") == std::string::npos) continue;
    // Of the keyword-only arguments, wrappers check only `out=`.
    if (rule_ == Rule::kWrapper && all[i].kwarg_only() && !all[i].is_out()) continue;
    arguments_.push_back({i, all[i].name(), is_write(all[i])});
  }
  // Written arguments come first: `out=` in wrappers, outputs in TensorIterator.
  std::stable_partition(arguments_.begin(), arguments_.end(), [&](const Argument& argument) {
    return rule_ == Rule::kWrapper ? all[argument.index].is_out() : argument.written;
  });
}

void DeviceCheck::choose_rule(const c10::FunctionSchema& schema, c10::DispatchKey key) {
  struct Own {
    std::string_view name;
    Rule rule;
  };
  // These operators check in their own code; the table does not have them.
  static constexpr std::array<Own, 10> kOwn{{
      {"aten::_convolution", Rule::kConvolution},
      {"aten::_index_put_impl_", Rule::kIndexPut},
      {"aten::_unsafe_index", Rule::kIndex},
      {"aten::_unsafe_index_put", Rule::kIndexPut},
      {"aten::index", Rule::kIndex},
      {"aten::index_put", Rule::kIndexPut},
      {"aten::index_put_", Rule::kIndexPut},
      {"aten::masked_fill", Rule::kMaskedFill},
      {"aten::masked_fill_", Rule::kMaskedFill},
      {"aten::where", Rule::kWhere},
  }};
  // Probabilities, and values to fill with, are moved to the device.
  static constexpr std::array<std::string_view, 3> kFree{"aten::bernoulli_", "aten::fill_",
                                                         "aten::binomial"};
  for (const Own& own : kOwn) {
    if (own.name == schema.name()) rule_ = own.rule;
  }
  const unsigned sparse = sparse_backend_of(key);
  const Row* row = sparse == 0 ? nullptr : find(full_name(schema), sparse);
  const bool is_sparse = row != nullptr;
  if (!is_sparse)
    row = find(full_name(schema), backend_of(Runtime::get().description().checked_as));
  // They compare the devices of two tensors in their own words (operators/type_refusals.cpp).
  if (full_name(schema) == "aten::max.unary_out" || full_name(schema) == "aten::min.unary_out")
    return;
  if (rule_ != Rule::kNone || row == nullptr ||
      std::find(kFree.begin(), kFree.end(), schema.name()) != kFree.end())
    return;
  // Kernels of sparse tensors are not structured.
  const bool is_wrapped = is_sparse && row->source == Source::kStructured;
  const Source source = is_wrapped ? Source::kWrapper : row->source;
  switch (source) {
    case Source::kIterator:
      rule_ = Rule::kIterator;
      break;
    case Source::kOutputs:
      rule_ = Rule::kOutputs;
      break;
    default:
      rule_ = Rule::kWrapper;
  }
  const auto& all = schema.arguments();
  const bool has_out = std::any_of(all.begin(), all.end(),
                                   [](const c10::Argument& argument) { return argument.is_out(); });
  method_ = method_name(schema, source, has_out, is_sparse ? key : Runtime::get().kind().dense);
}

void DeviceCheck::check(const IValue* arguments) const {
  switch (rule_) {
    case Rule::kNone:
      return;
    case Rule::kWrapper:
      return wrapper(arguments);
    case Rule::kOutputs:
      return outputs(arguments);
    case Rule::kIterator:
      return iterator(arguments, 1);
    case Rule::kWhere:
      return iterator(arguments, std::numeric_limits<int>::max());
    case Rule::kIndex:
      return check_indices(arguments[0], arguments[1]);
    case Rule::kIndexPut: {
      check_indices(arguments[0], arguments[1]);
      const at::Tensor& self = arguments[0].toTensor();
      const at::Tensor& values = arguments[2].toTensor();
      const bool moved = values.dim() == 0 && values.numel() == 1;
      TORCH_CHECK(moved || values.device() == self.device(),
                  "Expected all tensors to be on the same device, but found at least two devices, ",
                  self.is_cpu() ? values.device() : self.device(), " and ",
                  self.is_cpu() ? self.device() : values.device(), "!");
      return;
    }
    case Rule::kConvolution:
      return check_devices_of_convolution(arguments);
    case Rule::kMaskedFill: {
      const at::Tensor& self = arguments[0].toTensor();
      const at::Tensor& mask = arguments[1].toTensor();
      TORCH_CHECK(!(self.is_cpu() && mask.is_cpu()),
                  "masked_fill_: Expected inputs to be on same device");
      TORCH_CHECK(self.device() == mask.device(),
                  "expected self and mask to be on the same device, but got mask on ",
                  mask.device(), " and self on ", self.device());
      return;
    }
  }
}

void DeviceCheck::wrapper(const IValue* arguments) const {
  std::optional<Device> common;
  for (const Argument& argument : arguments_) {
    each_tensor(arguments[argument.index], [&](const at::Tensor& tensor) {
      c10::impl::check_and_update_common_device(common, tensor, method_.c_str(),
                                                argument.name.c_str());
    });
  }
}

// As resize_out in the wrappers that torchgen generates for structured operators.
void DeviceCheck::outputs(const IValue* arguments) const {
  std::optional<Device> common;
  for (const Argument& argument : arguments_) {
    if (argument.written) continue;
    each_tensor(arguments[argument.index], [&](const at::Tensor& tensor) {
      if (!common) common = tensor.device();
    });
  }
  for (const Argument& argument : arguments_) {
    if (!argument.written || !common) continue;
    each_tensor(arguments[argument.index], [&](const at::Tensor& tensor) {
      TORCH_CHECK(tensor.device() == *common, "Expected out tensor to have device ", *common,
                  ", but got ", tensor.device(), " instead");
    });
  }
}

// As compute_types in aten/src/ATen/TensorIterator.cpp.
void DeviceCheck::iterator(const IValue* arguments, int scalars) const {
  Device common(at::kCPU);
  for (const Argument& argument : arguments_) {
    each_tensor(arguments[argument.index], [&](const at::Tensor& tensor) {
      if (common.is_cpu()) common = tensor.device();
    });
  }
  int seen = 0;
  for (const Argument& argument : arguments_) {
    each_tensor(arguments[argument.index], [&](const at::Tensor& tensor) {
      if (tensor.device() == common) return;
      if (tensor.is_cpu() && tensor.dim() == 0 && !argument.written) {
        TORCH_CHECK(seen < scalars, "Trying to pass too many CPU scalars to non-CPU kernel!");
        ++seen;
        return;
      }
      TORCH_CHECK(false,
                  "Expected all tensors to be on the same device, but found at least two devices, ",
                  common, " and ", tensor.device(), "!");
    });
  }
}

}  // namespace torchport::vdev
