// Calls operators for code that AOTInductor generated. See generated_code.h.
//
// The parameters of a C function follow from the operator's schema (torchgen/gen_aoti_c_shim.py of
// PyTorch): tensors that the results are written to come first; then each argument, an optional one
// as a pointer that may be null, a list as a pointer and a length, a device as a type and a number;
// at the end a pointer for each result.
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <torch/csrc/inductor/aoti_torch/utils.h>

#include "runtime/virtual/aot/generated_code.h"
#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/errors/device_errors.h"

namespace torchport::vdev {

namespace {

using Operator = c10::OperatorHandle;
using torch::aot_inductor::new_tensor_handle;
using torch::aot_inductor::tensor_handle_to_tensor_pointer;

// The operator of a C function's name: where its name ends and the overload's begins is not told by
// the underscores, so the longest name that there is.
Operator find_operator(std::string_view name) {
  const auto version = name.rfind("_v");  // such as "_v2"
  if (version != std::string_view::npos && version + 3 == name.size() && name.back() >= '2' &&
      name.back() <= '9') {
    name = name.substr(0, version);
  }
  for (std::size_t end = name.size(); end > 0 && end != std::string_view::npos;
       end = name.rfind('_', end - 1)) {
    const std::string overload(end < name.size() ? name.substr(end + 1) : "");
    const auto found = c10::Dispatcher::singleton().findSchema(
        {"aten::" + std::string(name.substr(0, end)), overload});
    if (found) return *found;
  }
  TORCH_CHECK(false, "torchport: compiled code calls the operator ", name,
              ", which this release of torch does not have; compile it again");
}

const Operator& operator_of(const char* name) {
  static std::mutex mutex;
  static auto* known = new std::unordered_map<std::string, Operator>();  // code may run at exit
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known->find(name);
  if (found != known->end()) return found->second;
  return known->emplace(name, find_operator(name)).first->second;
}

// Reads arguments one after the other.
class GivenArguments {
 public:
  GivenArguments(const TorchportArgument* arguments, std::size_t count)
      : arguments_(arguments), count_(count) {}

  [[nodiscard]] std::int64_t integer() { return next(TorchportArgument::kInteger).integer; }
  [[nodiscard]] double real() { return next(TorchportArgument::kReal).real; }
  template <typename T>
  [[nodiscard]] T* pointer() {
    return static_cast<T*>(next(TorchportArgument::kPointer).pointer);
  }
  [[nodiscard]] std::size_t left() const { return count_ - at_; }

 private:
  const TorchportArgument& next(TorchportArgument::Kind kind) {
    TORCH_CHECK(at_ < count_ && arguments_[at_].kind == kind,
                "its arguments are not those of this release of torch; compile it again");
    return arguments_[at_++];
  }

  const TorchportArgument* arguments_;
  std::size_t count_;
  std::size_t at_ = 0;
};

at::Tensor tensor_of(AtenTensorHandle handle) {
  return *tensor_handle_to_tensor_pointer(handle);
}

// One value of a type of the schema, from where it lies: `T` is how the C functions pass it.
c10::IValue value_of(const c10::Type& type, std::int64_t given) {
  if (type.kind() == c10::TypeKind::BoolType) return given != 0;
  return given;
}

bool is_real(const c10::Type& type) {
  return type.kind() == c10::TypeKind::FloatType || type.kind() == c10::TypeKind::NumberType;
}

// Integers are passed in 64 bits; truth values and enumerations in 32.
bool is_short(const c10::Argument& argument, const c10::Type& type) {
  if (type.kind() == c10::TypeKind::BoolType) return true;
  const c10::TypePtr& real = argument.real_type();
  const auto* const optional = real->castRaw<c10::OptionalType>();
  const c10::TypePtr& one = optional != nullptr ? optional->getElementType() : real;
  switch (one->kind()) {
    case c10::TypeKind::ScalarTypeType:
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::MemoryFormatType:
      return true;
    default:
      return false;
  }
}

c10::IValue device_of(std::int64_t type, std::int64_t index) {
  return c10::Device(static_cast<c10::DeviceType>(type), static_cast<c10::DeviceIndex>(index));
}

c10::IValue list_of(const c10::Type& element, const void* from, std::int64_t length) {
  const auto count = static_cast<std::size_t>(length);
  switch (element.kind()) {
    case c10::TypeKind::TensorType: {
      c10::List<at::Tensor> list;
      const auto* handles = static_cast<const AtenTensorHandle*>(from);
      for (std::size_t i = 0; i < count; ++i) list.push_back(tensor_of(handles[i]));
      return list;
    }
    case c10::TypeKind::OptionalType: {
      c10::List<std::optional<at::Tensor>> list;
      const auto* handles = static_cast<const AtenTensorHandle* const*>(from);
      for (std::size_t i = 0; i < count; ++i) {
        list.push_back(handles[i] == nullptr ? std::nullopt
                                             : std::optional<at::Tensor>(tensor_of(*handles[i])));
      }
      return list;
    }
    case c10::TypeKind::BoolType: {
      c10::List<bool> list;
      const auto* values = static_cast<const std::int32_t*>(from);
      for (std::size_t i = 0; i < count; ++i) list.push_back(values[i] != 0);
      return list;
    }
    case c10::TypeKind::FloatType: {
      const auto* values = static_cast<const double*>(from);
      return c10::List<double>(c10::ArrayRef<double>(values, count));
    }
    default: {
      const auto* values = static_cast<const std::int64_t*>(from);
      return c10::List<std::int64_t>(c10::ArrayRef<std::int64_t>(values, count));
    }
  }
}

c10::IValue required(const c10::Argument& argument, GivenArguments& given) {
  const c10::Type& type = *argument.type();
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      return tensor_of(given.pointer<AtenTensorOpaque>());
    case c10::TypeKind::ListType: {
      const void* from = given.pointer<void>();
      return list_of(*type.castRaw<c10::ListType>()->getElementType(), from, given.integer());
    }
    case c10::TypeKind::StringType:
      return std::string(given.pointer<const char>());
    case c10::TypeKind::DeviceObjType: {
      const std::int64_t device = given.integer();
      return device_of(device, given.integer());
    }
    default:
      return is_real(type) ? c10::IValue(given.real()) : value_of(type, given.integer());
  }
}

c10::IValue optional(const c10::Argument& argument, GivenArguments& given) {
  const c10::Type& type = *argument.type()->castRaw<c10::OptionalType>()->getElementType();
  auto* from = given.pointer<void>();
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      if (from == nullptr) return {};
      return tensor_of(*static_cast<AtenTensorHandle*>(from));
    case c10::TypeKind::ListType: {
      const std::int64_t length = given.integer();
      if (from == nullptr) return {};
      return list_of(*type.castRaw<c10::ListType>()->getElementType(),
                     *static_cast<const void* const*>(from), length);
    }
    case c10::TypeKind::StringType:
      if (from == nullptr) return {};
      return std::string(*static_cast<const char* const*>(from));
    case c10::TypeKind::DeviceObjType: {
      const std::int64_t index = given.integer();
      if (from == nullptr) return {};
      return device_of(*static_cast<const std::int32_t*>(from), index);
    }
    case c10::TypeKind::GeneratorType:
      if (from == nullptr) return {};
      return *torch::aot_inductor::generator_handle_to_generator_pointer(
          *static_cast<AtenGeneratorHandle*>(from));
    default:
      if (from == nullptr) return {};
      if (is_real(type)) return *static_cast<const double*>(from);
      return value_of(type, is_short(argument, type) ? *static_cast<const std::int32_t*>(from)
                                                     : *static_cast<const std::int64_t*>(from));
  }
}

c10::IValue take(const c10::Argument& argument, GivenArguments& given) {
  return argument.type()->kind() == c10::TypeKind::OptionalType ? optional(argument, given)
                                                                : required(argument, given);
}

torch::jit::Stack arguments_of(const c10::FunctionSchema& schema, GivenArguments& given) {
  torch::jit::Stack stack(schema.arguments().size());
  for (const bool written : {true, false}) {
    for (std::size_t i = 0; i < stack.size(); ++i) {
      const c10::Argument& argument = schema.arguments()[i];
      if (argument.is_out() == written) stack[i] = take(argument, given);
    }
  }
  return stack;
}

// Gives the results to the caller, who owns the tensors then. A result that is not wanted has no
// place.
void give_back(torch::jit::Stack results, GivenArguments& given) {
  for (c10::IValue& result : results) {
    if (given.left() == 0) return;  // written into an argument
    auto* to = given.pointer<void>();
    if (to == nullptr) continue;
    if (result.isTensor()) {
      *static_cast<AtenTensorHandle*>(to) = new_tensor_handle(std::move(result).toTensor());
    } else if (result.isDouble()) {
      *static_cast<double*>(to) = result.toDouble();
    } else if (result.isBool()) {
      *static_cast<std::int32_t*>(to) = static_cast<std::int32_t>(result.toBool());
    } else {
      *static_cast<std::int64_t*>(to) = result.toInt();
    }
  }
}

void call(const char* name, GivenArguments given) {
  const Operator& op = operator_of(name);
  torch::jit::Stack stack;
  try {
    stack = arguments_of(op.schema(), given);
  } catch (c10::Error& error) {
    TORCH_RETHROW(error, "torchport: compiled code calls the operator ", name);
  }
  op.callBoxed(stack);
  give_back(std::move(stack), given);
}

}  // namespace

}  // namespace torchport::vdev

extern "C" {

C10_EXPORT std::int32_t torchport_aoti_call(const char* name, const TorchportArgument* arguments,
                                            std::size_t count) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({ torchport::vdev::call(name, {arguments, count}); });
}

C10_EXPORT std::int32_t torchport_aoti_exchange_device(std::int32_t device) {
  const std::int32_t before = static_cast<unsigned char>(torchport::vdev::current_device());
  torchport::vdev::set_current_device(static_cast<c10::DeviceIndex>(device));
  return before;
}

C10_EXPORT bool torchport_aoti_failed(std::int32_t device, const char* kernel, const char* source,
                                      const char* condition) {
  if (!torchport::vdev::errors_are_late()) return false;
  torchport::vdev::fail(static_cast<c10::DeviceIndex>(device), std::string("compiled ") + kernel,
                        {.file = source,
                         .kernel = "unknown",
                         .condition = condition,
                         .threads = {torchport::vdev::GridThread{}},
                         .reason = condition});
  return true;
}

}  // extern "C"
