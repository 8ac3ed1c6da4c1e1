// Runs the elementwise functions that torch.cuda.jiterator makes of C++ text, as operators
// torch.ops.torchport.jiterator_*. Python compiles the text for the host
// (python/torchport/virtual/kernels/jiterator.py); here are the tensors: which types there are, the
// results, and the loop over all elements.
//
// Types, as CUDA's kernels have them (ATen/cuda/jiterator.cu of PyTorch): inputs are converted to
// their common type, which is that of the results; the function is called in the type that this one
// is computed in (at::opmath_type: float for half precision). So one compiled function serves
// float, half and bfloat16. A bit of conjugation or negation is not looked at, as on a real device.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/OpMathType.h>
#include <ATen/TensorIterator.h>
#include <c10/core/DynamicCast.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/errors/device_errors.h"
#include "runtime/virtual/planning/work_record.h"
#include "runtime/virtual/without_data/meta_aliases.h"
#include "runtime/virtual/without_data/values.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

// What a compiled function looks like: a loop over two dimensions, as TensorIterator asks for.
// `data` and `strides` (in bytes; the outer dimension's follow the inner one's) are of the outputs,
// then of the inputs, all in the type that is computed in. `extra` has 16 bytes for each number. It
// throws a text where a GPU would go on with a result that is not defined.
using JittedLoop = void (*)(char** data, const std::int64_t* strides, std::int64_t size0,
                            std::int64_t size1, const std::int64_t* extra);

constexpr int kMostTensors = 8;            // inputs, and outputs
constexpr std::int64_t kJittedPart = 512;  // elements that are converted at once
constexpr std::size_t kWidest = 16;        // bytes of the widest type

// How the elements of one common type are read and written.
struct JittedType {
  const char* computed_in;  // the name in C++ of the type of the function's arguments
  std::size_t width;        // of that type, in bytes
  bool converted;           // whether it differs from the common type
  void (*load)(c10::ScalarType from, const char* data, std::int64_t stride, std::int64_t count,
               char* to);
  void (*store)(const char* from, char* data, std::int64_t stride, std::int64_t count);
};

template <class Common>
using Computed = at::opmath_type<Common>;

template <class Common>
void load_jitted(c10::ScalarType from, const char* data, std::int64_t stride, std::int64_t count,
                 char* to) {
  auto* out = reinterpret_cast<Computed<Common>*>(to);
  if (from == c10::CppTypeToScalarType<Common>::value) {
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<Computed<Common>>(
          c10::load<Common>(reinterpret_cast<const Common*>(data + i * stride)));
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    // First to the common type: an integer has the precision of half there.
    out[i] = static_cast<Computed<Common>>(c10::fetch_and_cast<Common>(from, data + i * stride));
  }
}

template <class Common>
void store_jitted(const char* from, char* data, std::int64_t stride, std::int64_t count) {
  const auto* in = reinterpret_cast<const Computed<Common>*>(from);
  for (std::int64_t i = 0; i < count; ++i) {
    *reinterpret_cast<Common*>(data + i * stride) = static_cast<Common>(in[i]);
  }
}

template <class Common>
JittedType jitted(const char* computed_in) {
  return {computed_in, sizeof(Computed<Common>), !std::is_same_v<Common, Computed<Common>>,
          &load_jitted<Common>, &store_jitted<Common>};
}

// Raises c10::Error for a type that CUDA's kernels do not have.
const JittedType& jitted_type(c10::ScalarType type) {
  static const std::vector<std::pair<c10::ScalarType, JittedType>> kTypes{
      {at::kByte, jitted<std::uint8_t>("unsigned char")},
      {at::kChar, jitted<std::int8_t>("signed char")},
      {at::kShort, jitted<std::int16_t>("short")},
      {at::kInt, jitted<int>("int")},
      {at::kLong, jitted<std::int64_t>("long long")},
      {at::kHalf, jitted<at::Half>("float")},
      {at::kBFloat16, jitted<at::BFloat16>("float")},
      {at::kFloat, jitted<float>("float")},
      {at::kDouble, jitted<double>("double")},
      {at::kComplexHalf, jitted<c10::complex<at::Half>>("std::complex<float>")},
      {at::kComplexFloat, jitted<c10::complex<float>>("std::complex<float>")},
      {at::kComplexDouble, jitted<c10::complex<double>>("std::complex<double>")},
      {at::kBool, jitted<bool>("bool")}};
  const auto found = std::ranges::find(kTypes, type, [](const auto& known) { return known.first; });
  // As jiterator_impl.h of torch 2.11: unsigned integers are not among its types. Those of 8 bits
  // are, and the compiler refuses the code for them there.
  const bool is_unsigned = type == at::kUInt16 || type == at::kUInt32 || type == at::kUInt64;
  TORCH_CHECK(
      !is_unsigned,
      "false INTERNAL ASSERT FAILED at \"/pytorch/aten/src/ATen/cuda/jiterator_impl.h\":56, "
      "please report a bug to PyTorch. Unrecognized ScalarType: ",
      c10::toString(type));
  TORCH_CHECK(found != kTypes.end(), "invalid type for jiterator");
  return found->second;
}

at::TensorIterator jitted_iterator(std::vector<Tensor>& outputs, at::TensorList inputs) {
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(true)
      .allow_cpu_scalars(false)
      .promote_inputs_to_common_dtype(true)
      .cast_common_dtype_to_outputs(true)
      .enforce_safe_casting_to_output(true)
      .check_all_same_device(true);
  for (Tensor& output : outputs) config.add_owned_output(output);
  for (const Tensor& input : inputs) config.add_const_input(input);
  return config.build();
}

// Calls a compiled loop for a part of a TensorIterator. Operands in another type than the one that
// is computed in go through buffers, some hundred elements at a time, so that a conversion takes no
// memory of the device.
class JittedPart {
 public:
  JittedPart(const at::TensorIterator& iter, JittedLoop loop, const std::int64_t* extra)
      : type_(jitted_type(iter.common_dtype())),
        outputs_(static_cast<std::size_t>(iter.noutputs())),
        loop_(loop),
        extra_(extra) {
    for (int i = 0; i < iter.ntensors(); ++i) {
      from_.push_back(iter.dtype(i));
      converted_.push_back(type_.converted || iter.dtype(i) != iter.common_dtype());
      any_converted_ = any_converted_ || converted_.back();
    }
  }

  void operator()(char** data, const std::int64_t* strides, std::int64_t size0,
                  std::int64_t size1) const {
    if (!any_converted_) {
      loop_(data, strides, size0, size1, extra_);
      return;
    }
    const std::size_t count = from_.size();
    const auto buffer = std::make_unique<std::byte[]>(count * kJittedPart * kWidest);
    std::vector<char*> row(data, data + count);
    for (std::int64_t j = 0; j < size1; ++j) {
      for (std::int64_t first = 0; first < size0; first += kJittedPart) {
        part(row, strides, first, std::min(kJittedPart, size0 - first),
             reinterpret_cast<char*>(buffer.get()));
      }
      for (std::size_t i = 0; i < count; ++i) row[i] += strides[count + i];
    }
  }

 private:
  void part(const std::vector<char*>& row, const std::int64_t* strides, std::int64_t first,
            std::int64_t size, char* buffer) const {
    const std::size_t count = row.size();
    std::array<char*, 2 * std::size_t{kMostTensors}> at{};
    std::array<std::int64_t, 4 * std::size_t{kMostTensors}> steps{};
    for (std::size_t i = 0; i < count; ++i) {
      char* place = row[i] + first * strides[i];
      if (!converted_[i]) {
        at[i] = place;
        steps[i] = strides[i];
        continue;
      }
      at[i] = buffer + i * kJittedPart * kWidest;
      steps[i] = static_cast<std::int64_t>(type_.width);
      if (i >= outputs_) type_.load(from_[i], place, strides[i], size, at[i]);
    }
    loop_(at.data(), steps.data(), size, 1, extra_);
    for (std::size_t i = 0; i < outputs_; ++i) {
      if (converted_[i]) type_.store(at[i], row[i] + first * strides[i], strides[i], size);
    }
  }

  const JittedType& type_;
  std::size_t outputs_;
  JittedLoop loop_;
  const std::int64_t* extra_;
  std::vector<c10::ScalarType> from_;
  std::vector<bool> converted_;
  bool any_converted_ = false;
};

// The results, not yet computed, and the name in C++ of the type that the function has to be
// compiled for; no name if there is nothing to compute. Raises c10::Error as a real device does.
std::tuple<std::vector<Tensor>, std::string> jiterator_outputs(at::TensorList inputs,
                                                               std::int64_t count) {
  TORCH_CHECK(count >= 1, "torchport: a function of jiterator has 1 to ", kMostTensors,
              " outputs, not ", count);
  std::vector<Tensor> outputs(static_cast<std::size_t>(count));
  at::TensorIterator iter = jitted_iterator(outputs, inputs);
  TORCH_CHECK(is_virtual(iter.device()),
              "CUDAGuardImpl initialized with non-CUDA DeviceType: ", iter.device().type());
  for (int i = 0; i < iter.noutputs(); ++i) outputs[static_cast<std::size_t>(i)] = iter.output(i);
  if (iter.numel() == 0) return {std::move(outputs), ""};
  TORCH_CHECK(iter.noutputs() <= kMostTensors,
              "iter.noutputs() <= 8 INTERNAL ASSERT FAILED at "
              "\"/pytorch/aten/src/ATen/cuda/jiterator.cu\":192, please report a bug to PyTorch. ");
  TORCH_CHECK(iter.ninputs() <= kMostTensors,
              "iter.ninputs() <= 8 INTERNAL ASSERT FAILED at "
              "\"/pytorch/aten/src/ATen/cuda/jiterator.cu\":193, please report a bug to PyTorch. ");
  return {std::move(outputs), jitted_type(iter.common_dtype()).computed_in};
}

// Whether there is nothing to compute with: then the results that have data are zeros.
bool lack_data(const std::vector<Tensor>& outputs, at::TensorList inputs) {
  const auto lacks = [](const Tensor& tensor) { return lacks_data(tensor); };
  if (std::none_of(inputs.begin(), inputs.end(), lacks) &&
      std::none_of(outputs.begin(), outputs.end(), lacks))
    return false;
  for (const Tensor& output : outputs) {
    if (!lacks_data(output)) output.zero_();
    mark_made_up(output);
  }
  return true;
}

void record_jitted(std::vector<Tensor> given, at::TensorList inputs) {
  if (!records_work()) return;
  given.insert(given.end(), inputs.begin(), inputs.end());
  record_compiled(given);
}

// Computes the results. `function` is the address of a JittedLoop for their type, `extra` two words
// for each further number. Raises what the function throws, and c10::AcceleratorError if the device
// is lost.
void jiterator_run(std::int64_t function, at::TensorList outputs, at::TensorList inputs,
                   at::IntArrayRef extra) {
  std::vector<Tensor> results = outputs.vec();
  at::TensorIterator iter = jitted_iterator(results, inputs);
  check_device(iter.device().index(), Asks::kToStart);
  record_jitted(results, inputs);
  if (lack_data(results, inputs)) {
    note_not_run("jiterator");
    return;
  }
  for (int i = 0; i < iter.ntensors(); ++i) {
    TORCH_CHECK(
        iter.data_ptr(i) != nullptr,
        "torchport: a function of torch.cuda.jiterator was called with a tensor that has no "
        "memory, such as a FakeTensor; wrap the call in an operator of torch.library.custom_op");
  }
  const JittedPart part(iter, std::bit_cast<JittedLoop>(function), extra.data());
  try {
    iter.for_each(part);
  } catch (const char* text) {
    TORCH_CHECK(false, "torchport: ", text);
  }
  if (std::any_of(inputs.begin(), inputs.end(), &is_made_up))
    std::for_each(results.begin(), results.end(), &mark_made_up);
}

// Kernels of their own for every key below autograd: a capture of a graph records the operators,
// and what they do is no operator.
TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("jiterator_outputs(Tensor[] inputs, int count) -> (Tensor[], str)");
  library.def(
      "jiterator_run(int function, Tensor(a!)[] outputs, Tensor[] inputs, int[] extra) -> ()");
}
TORCH_LIBRARY_IMPL(torchport, CompositeExplicitAutograd, library) {
  library.impl("jiterator_outputs", TORCH_FN(jiterator_outputs));
  library.impl("jiterator_run", TORCH_FN(jiterator_run));
}

}  // namespace

}  // namespace torchport::vdev
