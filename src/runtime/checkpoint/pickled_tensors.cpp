#include "runtime/checkpoint/pickled_tensors.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace torchport::checkpoint {

namespace {

constexpr std::size_t kMostSizes = 65;  // one more than torch has dimensions

}  // namespace

std::optional<TensorEntry> PickledTensors::tensor_of(const Object& call) {
  if (call.items.empty()) return std::nullopt;
  TensorEntry tensor;
  tensor.kind = "tensor";
  if (!describe(call, pickle_.name_of(call.items.front()), tensor, 0)) return std::nullopt;
  return tensor;
}

const Object* PickledTensors::argument(const Object& call, std::size_t index) const {
  if (call.items.size() < 2) return nullptr;
  const Object& arguments = pickle_.at(call.items[1]);
  return index < arguments.items.size() ? &pickle_.at(arguments.items[index]) : nullptr;
}

// It calls itself for a parameter of a subclass of a tensor, and no deeper.
bool PickledTensors::describe(const Object& call, std::string_view name, TensorEntry& tensor,
                              int depth) {
  constexpr std::string_view kUtils = "torch._utils._rebuild_";
  if (name == "torch._tensor._rebuild_from_type_v2") {
    // (function, type, its arguments, state)
    const Object* arguments = argument(call, 2);
    if (arguments == nullptr || depth > 2) return false;
    Object inner;
    inner.items = {pickle_.at(call.items[1]).items[0], pickle_.at(call.items[1]).items[2]};
    const bool found = describe(inner, pickle_.name_of(inner.items[0]), tensor, depth + 1);
    if (found) tensor.kind = "subclass";
    return found;
  }
  if (!name.starts_with(kUtils)) return false;
  name.remove_prefix(kUtils.size());
  if (name.starts_with("parameter")) {
    const Object* data = argument(call, 0);
    if (data == nullptr || data->type != Type::kCall || data->items.empty() || depth > 2)
      return false;
    if (!describe(*data, pickle_.name_of(data->items.front()), tensor, depth + 1)) return false;
    const Object* grad = argument(call, 1);
    tensor.kind = "parameter";
    tensor.requires_grad = grad != nullptr && grad->integer != 0;
    return true;
  }
  if (name == "tensor" || name == "tensor_v2" || name == "tensor_v3" || name == "qtensor")
    return strided(call, name, tensor);
  if (name == "meta_tensor_no_storage") {
    tensor.dtype = dtype_of(argument(call, 0));
    numbers(argument(call, 1), tensor.shape);
    tensor.device = "meta";
    return true;
  }
  if (name == "sparse_tensor" || name == "sparse_csr_tensor" || name == "nested_tensor") {
    tensor.kind = name == "nested_tensor" ? "nested" : "sparse";
    return parts(call, tensor);
  }
  return false;
}

bool PickledTensors::strided(const Object& call, std::string_view name, TensorEntry& tensor) {
  const Object* id = argument(call, 0);
  const auto storage = id == nullptr ? std::nullopt : storage_of(*id);
  if (!storage) return false;
  tensor.storage = storage;
  tensor.dtype =
      name == "tensor_v3" ? dtype_of(argument(call, 6)) : contents_.storages[*storage].dtype;
  tensor.device = contents_.storages[*storage].device;
  const Object* offset = argument(call, 1);
  tensor.offset = offset == nullptr ? 0 : offset->integer;
  numbers(argument(call, 2), tensor.shape);
  numbers(argument(call, 3), tensor.stride);
  const Object* grad = argument(call, name == "qtensor" ? 5 : 4);
  tensor.requires_grad = grad != nullptr && grad->type == Type::kBool && grad->integer != 0;
  if (name == "qtensor") tensor.kind = "quantized";
  return true;
}

// Sparse and nested tensors consist of other tensors, which have no names of their own.
bool PickledTensors::parts(const Object& call, TensorEntry& tensor) {
  std::vector<Ref> todo{call.items[1]};
  std::size_t looked = 0;
  while (!todo.empty() && looked++ < 64) {
    const Object& object = pickle_.at(todo.back());
    todo.pop_back();
    if (object.type == Type::kTuple || object.type == Type::kList)
      todo.insert(todo.end(), object.items.rbegin(), object.items.rend());
    if (object.type != Type::kCall || object.items.empty()) continue;
    const std::string name = pickle_.name_of(object.items.front());
    TensorEntry part;
    if (name == "torch.Size") {
      const Object* sizes = argument(object, 0);
      numbers(sizes, tensor.shape);
    } else if (describe_part(object, name, part)) {
      tensor.dtype = part.dtype;  // the values are the last part
      tensor.device = part.device;
    }
  }
  return true;
}

bool PickledTensors::describe_part(const Object& call, std::string_view name, TensorEntry& part) {
  constexpr std::string_view kUtils = "torch._utils._rebuild_";
  return name.starts_with(kUtils) && name.substr(kUtils.size()).starts_with("tensor") &&
         strided(call, name.substr(kUtils.size()), part);
}

std::string PickledTensors::dtype_of(const Object* object) const {
  return object != nullptr && object->type == Type::kGlobal
             ? dtype_named("torch." + object->text.substr(object->text.find(' ') + 1))
             : std::string();
}

void PickledTensors::numbers(const Object* tuple, std::vector<std::int64_t>& out) const {
  if (tuple == nullptr) return;
  // Protocol 2 writes a call: torch.Size((2, 3)).
  if (tuple->type == Type::kCall && tuple->items.size() == 2) tuple = argument(*tuple, 0);
  if (tuple == nullptr) return;
  const auto count = std::min(tuple->items.size(), kMostSizes);
  for (std::size_t i = 0; i < count; ++i) out.push_back(pickle_.at(tuple->items[i]).integer);
}

// Reads the persistent id ("storage", class, key, device, elements[, view]).
std::optional<std::size_t> PickledTensors::storage_of(const Object& persistent) {
  if (persistent.type != Type::kPersistent) return std::nullopt;
  const Object& id = pickle_.at(persistent.items.front());
  if (id.items.size() < 5 || pickle_.at(id.items[0]).text != "storage") return std::nullopt;
  const std::string& key = pickle_.at(id.items[2]).text;
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) return known->second;
  Storage storage;
  storage.key = key;
  storage.dtype = dtype_named(pickle_.name_of(id.items[1]));
  storage.device = pickle_.at(id.items[3]).text;
  const std::int64_t count = pickle_.at(id.items[4]).integer;
  const std::uint64_t size = element_size(storage.dtype);
  if (size == 0)
    contents_.broken.push_back(fmt::format("storage {} has a type that torch does not know", key));
  if (count < 0 || (size != 0 && static_cast<std::uint64_t>(count) > UINT64_MAX / size))
    contents_.broken.push_back(
        fmt::format("storage {} has an invalid number of elements: {}", key, count));
  else
    storage.bytes = static_cast<std::uint64_t>(count) * size;
  contents_.storages.push_back(std::move(storage));
  return by_key_[key] = contents_.storages.size() - 1;
}

}  // namespace torchport::checkpoint
