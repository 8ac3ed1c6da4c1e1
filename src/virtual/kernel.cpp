#include "virtual/kernel.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

#include "virtual/alias.h"
#include "virtual/generator.h"
#include "virtual/runtime.h"

namespace torchport::vdev {

namespace {

using c10::IValue;
using torch::jit::Stack;

// An argument as the CPU takes it.
IValue to_cpu(const IValue& value, Aliases& aliases) {
  if (value.isTensor()) return aliases.of(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(aliases.of(tensor));
    return list;
  }
  if (value.isDevice()) {
    const c10::Device device = value.toDevice();
    if (!is_virtual(device)) return value;
    aliases.set_device(device.has_index() ? device.index() : c10::DeviceIndex{-1});
    return c10::Device(c10::DeviceType::CPU);
  }
  if (value.isGenerator()) {
    const at::Generator& generator = value.toGenerator();
    return generator.defined() ? IValue(twin_of(generator)) : value;
  }
  if (value.isList()) {
    // Lists of optional tensors, lists of lists of tensors.
    const auto from = value.toList();
    auto list = c10::impl::GenericList(from.elementType());
    for (const IValue& element : from) list.push_back(to_cpu(element, aliases));
    return list;
  }
  return value;
}

bool holds_tensors(const IValue& value) {
  return value.isTensor() || value.isTensorList() || value.isDevice() || value.isGenerator() ||
         (value.isList() && (value.toListRef().empty() || !value.toListRef().front().isInt()));
}

IValue to_device(IValue value, Aliases& aliases) {
  if (value.isTensor()) return aliases.back(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(aliases.back(tensor));
    return list;
  }
  return value;
}

void write_back(const IValue& value, Aliases& aliases) {
  if (value.isTensor()) {
    aliases.write_back(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) aliases.write_back(tensor);
  }
}

}  // namespace

AliasKernel::AliasKernel(const c10::FunctionSchema& schema, c10::DispatchKey cpu) : cpu_(cpu) {
  const auto& arguments = schema.arguments();
  for (std::size_t i = 0; i < arguments.size() && i < 64; ++i) {
    const c10::AliasInfo* alias = arguments[i].alias_info();
    if (alias != nullptr && alias->isWrite()) written_ |= std::uint64_t{1} << i;
    if (arguments[i].type()->str().find("Generator") != std::string::npos)
      generator_ = static_cast<int>(i);
  }
}

void AliasKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet,
                             Stack* stack) const {
  const std::size_t count = op.schema().arguments().size();
  const std::size_t first = stack->size() - count;
  Aliases aliases;
  c10::SmallVector<IValue, 4> written;
  for (std::size_t i = 0; i < count; ++i) {
    IValue& value = (*stack)[first + i];
    if (holds_tensors(value)) value = to_cpu(value, aliases);
    if (i < 64 && ((written_ >> i) & 1U) != 0) written.push_back(value);
  }
  if (generator_ >= 0) {
    IValue& generator = (*stack)[first + static_cast<std::size_t>(generator_)];
    // Only the generator brought this call to the device.
    TORCH_CHECK(generator.isNone() || !aliases.only_host(),
                "Expected a 'cpu' device type for generator but found '",
                Runtime::get().spec().kind, "'");
    if (generator.isNone()) generator = twin_of(default_generator(aliases.device()));
  }
  {
    // Autograd has seen this call; nothing below is to be recorded or tracked as a view.
    const at::AutoDispatchBelowADInplaceOrView below;
    op.redispatchBoxed(cpu_, stack);
  }
  for (const IValue& value : written) write_back(value, aliases);
  const std::size_t results = op.schema().returns().size();
  for (std::size_t i = stack->size() - results; i < stack->size(); ++i)
    (*stack)[i] = to_device(std::move((*stack)[i]), aliases);
}

}  // namespace torchport::vdev
