// The tensors and storages of a pickle, from the calls that rebuild them (torch/_utils.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/checkpoint/contents.h"
#include "runtime/checkpoint/pickle.h"

namespace torchport::checkpoint {

// Both arguments of the constructor outlive it. Not thread safe.
class PickledTensors {
 public:
  PickledTensors(const Pickle& pickle, Contents& contents) : pickle_(pickle), contents_(contents) {}

  // The tensor that a call rebuilds, without its path; nothing if it rebuilds none.
  [[nodiscard]] std::optional<TensorEntry> tensor_of(const Object& call);

  // The index in Contents::storages of the storage that a persistent id names, which is added when
  // it is first named; nothing for other objects.
  [[nodiscard]] std::optional<std::size_t> storage_of(const Object& persistent);

 private:
  [[nodiscard]] const Object* argument(const Object& call, std::size_t index) const;
  bool describe(const Object& call, std::string_view name, TensorEntry& tensor, int depth);
  bool strided(const Object& call, std::string_view name, TensorEntry& tensor);
  bool parts(const Object& call, TensorEntry& tensor);
  bool describe_part(const Object& call, std::string_view name, TensorEntry& part);
  std::string dtype_of(const Object* object) const;
  void numbers(const Object* tuple, std::vector<std::int64_t>& out) const;

  const Pickle& pickle_;
  Contents& contents_;
  std::unordered_map<std::string, std::size_t> by_key_;
};

}  // namespace torchport::checkpoint
