#include "runtime/virtual/without_data/values.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/ExpandUtils.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/topk.h>
#include <nlohmann/json.hpp>
#include <torch/library.h>

#include "runtime/virtual/core/operator_names.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/watch/source_lines.h"
#include "runtime/virtual/without_data/meta_aliases.h"
#include "runtime/virtual/without_data/other_layouts.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

bool number(Stack* stack, std::size_t first) {
  const at::ScalarType type = (*stack)[first].toTensor().scalar_type();
  const c10::Scalar zero = c10::isComplexType(type)       ? c10::Scalar(c10::complex<double>())
                           : c10::isFloatingType(type)    ? c10::Scalar(0.0)
                           : type == at::ScalarType::Bool ? c10::Scalar(false)
                                                          : c10::Scalar(std::int64_t{0});
  return leave_results(stack, first, {IValue(zero)});
}

bool yes(Stack* stack, std::size_t first) {
  return leave_results(stack, first, {IValue(true)});
}

bool nothing(Stack* stack, std::size_t first) {
  return leave_results(stack, first, {});
}

// The numbers of all elements of `self`, for each dimension.
bool all_elements(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  // As CUDA's kernel lays them out: one dimension after the other.
  const Tensor made = made_up_zeros({self.dim(), self.numel()}, self, at::kLong).t();
  return leave_results(stack, first, {IValue(made)});
}

bool all_selected(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  const Tensor mask = (*stack)[first + 1].toTensor();
  std::int64_t count = 1;
  for (const std::int64_t size : at::infer_size(self.sizes(), mask.sizes())) count *= size;
  return leave_results(stack, first, {IValue(made_up_zeros({count}, self, self.scalar_type()))});
}

// masked_scatter_(self, mask, source): the meta kernel takes any mask.
bool mask_fits(Stack* stack, std::size_t first) {
  static_cast<void>(at::expand_inplace((*stack)[first].toTensor(), (*stack)[first + 1].toTensor(),
                                       "masked_scatter_"));
  return false;
}

// (values, where each element is, counts)
void leave_unique(Stack* stack, std::size_t first, bool finds_inverse, bool counts) {
  const Tensor self = (*stack)[first].toTensor();
  const std::array<std::int64_t, 1> none{0};
  const std::array<std::int64_t, 1> all{self.numel()};
  leave_results(
      stack, first,
      {IValue(made_up_zeros(all, self, self.scalar_type())),
       IValue(made_up_zeros(finds_inverse ? self.sizes() : at::IntArrayRef(none), self, at::kLong)),
       IValue(made_up_zeros(counts ? all : none, self, at::kLong))});
}

// _unique2(self, sorted, return_inverse, return_counts)
bool all_unique(Stack* stack, std::size_t first) {
  leave_unique(stack, first, (*stack)[first + 2].toBool(), (*stack)[first + 3].toBool());
  return true;
}

// unique_consecutive(self, return_inverse, return_counts, dim)
bool all_apart(Stack* stack, std::size_t first) {
  if (!(*stack)[first + 3].isNone()) return false;
  leave_unique(stack, first, (*stack)[first + 1].toBool(), (*stack)[first + 2].toBool());
  return true;
}

// An index of which one is a mask is one by numbers of as many elements as the mask has. The call
// goes on with those.
bool index_by_numbers(Stack* stack, std::size_t first) {
  const auto indices = (*stack)[first + 1].toOptionalTensorList();
  const auto is_mask = [](const std::optional<Tensor>& one) {
    return one && one->defined() &&
           (one->scalar_type() == at::kBool || one->scalar_type() == at::kByte);
  };
  c10::List<std::optional<Tensor>> numbers;
  bool any = false;
  for (const std::optional<Tensor> one : indices) {
    if (!is_mask(one)) {
      numbers.push_back(one);
      continue;
    }
    any = true;
    for (std::int64_t i = 0; i < one->dim(); ++i)
      numbers.push_back(made_up_zeros({one->numel()}, *one, at::kLong));
  }
  if (any) {
    note_read({"aten::index", "Tensor"});
    (*stack)[first + 1] = std::move(numbers);
  }
  return false;
}

// repeat_interleave(Tensor repeats, *, SymInt? output_size): each element once, if the size is not
// given.
bool each_once(Stack* stack, std::size_t first) {
  const Tensor repeats = (*stack)[first].toTensor();
  const IValue& given = (*stack)[first + 1];
  const std::int64_t count = given.isNone() ? repeats.numel() : given.toInt();
  return leave_results(stack, first,
                       {IValue(made_up_zeros({count}, repeats, repeats.scalar_type()))});
}

// bincount(self, weights, minlength): the numbers are assumed to be below `minlength`. Without one
// there may be any count.
bool counts_of_numbers(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  const Tensor weights = (*stack)[first + 1].isTensor() ? (*stack)[first + 1].toTensor() : Tensor();
  const std::int64_t least = (*stack)[first + 2].toInt();
  if (self.dim() != 1 || !at::isIntegralType(self.scalar_type(), /*includeBool=*/false))
    return false;
  if (least == 0) note_read({"count of numbers", ""});
  at::ScalarType type = at::kLong;
  if (weights.defined()) type = weights.scalar_type() == at::kFloat ? at::kFloat : at::kDouble;
  return leave_results(stack, first,
                       {IValue(made_up_zeros({std::max<std::int64_t>(least, 1)}, self, type))});
}

// A sparse tensor of all elements of `self`.
Tensor with_all_elements(const Tensor& self, std::int64_t sparse_dim) {
  const auto sizes = self.sizes();
  const auto sparse = sizes.slice(0, static_cast<std::size_t>(sparse_dim));
  const std::int64_t count = c10::multiply_integers(sparse);
  std::vector<std::int64_t> of_values(sizes.begin() + sparse_dim, sizes.end());
  of_values.insert(of_values.begin(), count);
  const Tensor indices = made_up_zeros({sparse_dim, count}, self, at::kLong);
  const Tensor values = made_up_zeros(of_values, self, self.scalar_type());
  return at::_sparse_coo_tensor_unsafe(indices, values, sizes, values.options().layout(at::kSparse),
                                       true);
}

// _to_sparse(self, sparse_dim)
bool all_in_dims(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  const std::int64_t dims = (*stack)[first + 1].toInt();
  if (dims < 1 || dims > self.dim()) return false;
  return leave_results(stack, first, {IValue(with_all_elements(self, dims))});
}

// _to_sparse(self, *, layout, blocksize, dense_dim)
bool all_in_layout(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  const auto layout = (*stack)[first + 1].toOptional<at::Layout>();
  const std::int64_t dense = (*stack)[first + 3].isNone() ? 0 : (*stack)[first + 3].toInt();
  if (layout.value_or(at::kSparse) != at::kSparse || dense < 0 || dense >= self.dim()) return false;
  return leave_results(stack, first, {IValue(with_all_elements(self, self.dim() - dense))});
}

template <at::Layout kLayout>
bool all_compressed(Stack* stack, std::size_t first) {
  return to_compressed(stack, first, kLayout);
}

// multinomial(self, num_samples, replacement, generator), by the largest quotients
// (Distributions.cpp) if it draws once or without replacement. What is checked of the weights is
// not there.
bool drawn_by_quotients(Stack* stack, std::size_t first) {
  const Tensor self = (*stack)[first].toTensor();
  const std::int64_t count = (*stack)[first + 1].toInt();
  const bool replaces = (*stack)[first + 2].toBool();
  if ((replaces && count != 1) || self.dim() < 1 || self.dim() > 2 || count < 1 ||
      !at::isFloatingType(self.scalar_type()) || (!replaces && count > self.size(-1)))
    return false;
  Tensor drawn = at::empty({0}, self.options().dtype(at::kLong));
  const Tensor quotients = at::empty_like(self);
  drawn = count == 1 ? at::argmax(quotients, -1, true) : std::get<1>(at::topk(quotients, count));
  return leave_results(stack, first, {IValue(std::move(drawn))});
}

// roll(self, shifts, dims): CUDA rolls one dimension after the other.
bool rolls_several(const IValue* arguments) {
  const std::size_t shifts = arguments[1].toIntVector().size();
  const std::size_t dims = arguments[2].toIntVector().size();
  return dims == 0 ? shifts == 1 : shifts == dims && dims > 1;
}

// A copy between the host and a device, or one whose values are not there.
bool copy(Stack* stack, std::size_t first) {
  Tensor self = (*stack)[first].toTensor();
  const Tensor source = (*stack)[first + 1].toTensor();
  if (!self.defined() || !source.defined()) return false;
  static_cast<void>(at::infer_size(self.sizes(), source.sizes()));
  TORCH_CHECK(at::is_expandable_to(source.sizes(), self.sizes()), "The size of tensor a (",
              source.sizes(), ") must match that of tensor b (", self.sizes(), ")");
  if (!lacks_data(self)) self.zero_();
  mark_made_up(self);
  return leave_results(stack, first, {IValue(self)});
}

const std::unordered_map<std::string_view, ValueRule>& rules() {
  static const std::unordered_map<std::string_view, ValueRule> kRules = {
      {"aten::_is_all_true", {.one_results = true}},
      {"aten::_local_scalar_dense", {true, &number}},
      {"aten::_to_sparse", {true, &all_in_layout}},
      {"aten::_to_sparse.sparse_dim", {true, &all_in_dims}},
      {"aten::_to_sparse_bsc", {true, &all_compressed<at::kSparseBsc>}},
      {"aten::_to_sparse_bsr", {true, &all_compressed<at::kSparseBsr>}},
      {"aten::_to_sparse_csc", {true, &all_compressed<at::kSparseCsc>}},
      {"aten::_to_sparse_csr", {true, &all_compressed<at::kSparseCsr>}},
      {"aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", {false, &fake_quantize}},
      {"aten::fake_quantize_per_channel_affine_cachemask", {false, &fake_quantize}},
      {"aten::fake_quantize_per_tensor_affine_cachemask", {false, &fake_quantize}},
      {"aten::quantize_per_channel", {false, &quantize_per_channel}},
      {"aten::quantize_per_tensor", {false, &quantize_per_tensor}},
      {"aten::quantize_per_tensor.tensor_qparams", {false, &quantize_per_tensor}},
      {"aten::_weight_int4pack_mm", {false, &weight_int4pack_mm}},
      {"aten::all", {.one_results = true}},
      {"aten::all.dim", {.one_results = true}},
      {"aten::all.dims", {.one_results = true}},
      {"aten::equal", {true, &yes}},
      {"aten::nonzero", {.reads = true, .instead = &all_elements, .is_size = true}},
      {"aten::masked_scatter_", {false, &mask_fits}},
      {"aten::masked_select", {.reads = true, .instead = &all_selected, .is_size = true}},
      {"aten::min", {.one_results = true}},
      {"aten::multinomial", {false, &drawn_by_quotients}},
      {"aten::repeat_interleave.Tensor", {true, &each_once}},
      {"aten::roll", {.calls_others = &rolls_several}},
      {"aten::_unique2", {.reads = true, .instead = &all_unique, .is_size = true}},
      {"aten::unique_consecutive", {.reads = true, .instead = &all_apart, .is_size = true}},
      {"aten::index.Tensor", {false, &index_by_numbers}},
      {"aten::copy_", {false, &copy}},
      {"aten::bincount", {.reads = true, .instead = &counts_of_numbers, .is_size = true}},
      {"aten::_cudnn_rnn", {.by_kernel = true}},
      {"aten::_cudnn_rnn_backward", {.by_kernel = true}},
      {"aten::_cudnn_rnn_flatten_weight", {.by_kernel = true}},
      {"aten::_assert_async", {false, &nothing}},
      {"aten::_assert_async.msg", {false, &nothing}},
  };
  return kRules;
}

// What was asked for, by kind, operator and line.
class Questions {
 public:
  static Questions& all() {
    static auto* one = new Questions();
    return *one;
  }

  void add(std::string_view kind, std::string operation) {
    std::string place = source_place();
    const std::scoped_lock lock(mutex_);
    Row& row = rows_[{std::string(kind), std::move(operation), std::move(place)}];
    if (row.count++ == 0) row.peaks = peaks_now();
  }

  [[nodiscard]] std::string json() const {
    const std::scoped_lock lock(mutex_);
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& [key, row] : rows_)
      rows.push_back({{"kind", std::get<0>(key)},
                      {"operator", std::get<1>(key)},
                      {"line", std::get<2>(key)},
                      {"count", row.count},
                      {"peaks", row.peaks}});
    return rows.dump();
  }

 private:
  struct Row {
    std::int64_t count = 0;
    std::vector<std::int64_t> peaks;  // of each device's allocated bytes, before the first of them
  };

  static std::vector<std::int64_t> peaks_now() {
    std::vector<std::int64_t> peaks;
    if (!Runtime::get().are_made()) return peaks;
    for (c10::DeviceIndex i = 0; i < Runtime::get().count(); ++i)
      peaks.push_back(
          Runtime::get().memory(i).stats().allocated_bytes.of[device::PoolStat::kAll].peak);
    return peaks;
  }

  mutable std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, std::string>, Row> rows_;
};

std::string questions() {
  return Questions::all().json();
}

// NOLINTBEGIN(performance-unnecessary-value-param): torch asks for values

// For kernels that were compiled: whether the values of an argument are not there, or made up.
bool lacks_values(std::vector<Tensor> arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const Tensor& one) { return lacks_data(one) || is_made_up(one); });
}

void make_up_all(std::vector<Tensor> results) {
  for (const Tensor& result : results) make_up({result});
}

// NOLINTEND(performance-unnecessary-value-param)

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("missing_values() -> str", &questions);
  library.def("lacks_values(Tensor[] arguments) -> bool", &lacks_values);
  library.def("make_up(Tensor[] results) -> ()", &make_up_all);
}

}  // namespace

const ValueRule* value_rule_of(const c10::OperatorName& name) {
  const auto found = rules().find(full_name(name));
  return found == rules().end() ? nullptr : &found->second;
}

void note_read(const c10::OperatorName& name) {
  Questions::all().add("read", name.name);
}

void note_computed_on_zeros(const c10::OperatorName& name) {
  Questions::all().add("computed on zeros", name.name);
}

void note_read_by_call(const char* name) {
  Questions::all().add("read", name);
}

void note_not_run(const char* kernel) {
  Questions::all().add("kernel not run", kernel);
}

}  // namespace torchport::vdev
