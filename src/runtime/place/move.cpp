#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <torchport/move.h>

namespace torchport {

at::Tensor to(const at::Tensor& tensor, c10::Device device, const MoveOptions& options) {
  if (!tensor.defined()) return tensor;
  const bool pinned =
      tensor.is_cpu() && !device.is_cpu() && tensor.layout() == at::kStrided && tensor.is_pinned();
  const auto dtype =
      options.dtype && tensor.is_floating_point() ? *options.dtype : tensor.scalar_type();
  return tensor.to(device, dtype, options.non_blocking.value_or(pinned));
}

// Script values nest as deep as the program that made them wrote.
c10::IValue to(const c10::IValue& value, c10::Device device, const MoveOptions& options) {
  if (value.isTensor()) return to(value.toTensor(), device, options);
  if (value.isTuple()) {
    std::vector<c10::IValue> items;
    for (const c10::IValue& item : value.toTupleRef().elements())
      items.push_back(to(item, device, options));
    return c10::ivalue::Tuple::create(std::move(items));
  }
  if (value.isList()) {
    const auto list = value.toList();
    c10::List<c10::IValue> moved(list.elementType());
    moved.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) moved.push_back(to(list.get(i), device, options));
    return moved;
  }
  if (value.isGenericDict()) {
    const auto dict = value.toGenericDict();
    c10::Dict<c10::IValue, c10::IValue> moved(dict.keyType(), dict.valueType());
    for (const auto& entry : dict) moved.insert(entry.key(), to(entry.value(), device, options));
    return moved;
  }
  return value;
}

}  // namespace torchport
