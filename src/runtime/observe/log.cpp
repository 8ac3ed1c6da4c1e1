#include "runtime/observe/log.h"

namespace torchport::observe {

namespace {

// Whether asking for the tensor's sizes would run the subclass's own code, or it has no sizes.
bool is_opaque(const c10::TensorImpl& tensor) {
  return tensor.is_python_dispatch() || tensor.has_symbolic_sizes_strides() ||
         tensor.key_set().has(c10::DispatchKey::NestedTensor);
}

}  // namespace

Seen look_at(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  Seen seen;
  seen.tensor = &impl;
  seen.storage = impl.unsafe_storage().unsafeGetStorageImpl();
  seen.device = impl.device();
  seen.dtype = c10::typeMetaToScalarType(impl.dtype());
  if (!is_opaque(impl)) {
    seen.dimensions = static_cast<std::uint8_t>(impl.dim());
    if (seen.storage != nullptr)
      seen.bytes = static_cast<std::uint64_t>(impl.numel()) * impl.itemsize();
  }
  return seen;
}

void Log::add_sizes(const c10::TensorImpl& tensor, Seen& seen) {
  if (seen.dimensions == 0) return;
  seen.first_size = static_cast<std::uint32_t>(sizes.size());
  const c10::IntArrayRef all = tensor.sizes();
  sizes.insert(sizes.end(), all.begin(), all.end());
}

std::optional<std::uint64_t> Log::add(const RecordedCall& call, c10::ArrayRef<Seen> inputs,
                                      c10::ArrayRef<Seen> outputs) {
  // On average: calls with lists of hundreds of tensors fill the log sooner.
  constexpr std::size_t kTensorsOfACall = 8;
  if (calls.size() >= max_calls || tensors.size() >= max_calls * kTensorsOfACall) {
    ++operators;
    ++unrecorded;
    return std::nullopt;
  }
  return keep(call, inputs, outputs);
}

std::uint64_t Log::keep(const RecordedCall& call, c10::ArrayRef<Seen> inputs,
                        c10::ArrayRef<Seen> outputs) {
  ++operators;
  calls.push_back(call);
  RecordedCall& kept = calls.back();
  kept.first = static_cast<std::uint32_t>(tensors.size());
  kept.inputs = static_cast<std::uint32_t>(inputs.size());
  kept.outputs = static_cast<std::uint32_t>(outputs.size());
  tensors.insert(tensors.end(), inputs.begin(), inputs.end());
  for (Seen seen : outputs) {
    add_sizes(*seen.tensor, seen);
    tensors.push_back(seen);
  }
  return calls.size() - 1;
}

}  // namespace torchport::observe
