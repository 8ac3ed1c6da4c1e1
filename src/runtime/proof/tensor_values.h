// The numbers of tensors in files, to compare those of two runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace torchport::proof {

struct StoredTensor {
  std::string dtype;  // "float32"
  std::vector<std::int64_t> shape;
  std::optional<std::vector<double>> numbers;  // none if they cannot be read here
};

struct StoredValues {
  std::map<std::string, StoredTensor> tensors;  // by their names in the file
  std::string others;  // numbers and texts beside them, a line each: "epoch 3"
};

// What a checkpoint or an array of NumPy (.npy) holds; nothing for another file, or a damaged one.
// Thread safe.
[[nodiscard]] std::optional<StoredValues> stored_values(const std::string& path);

}  // namespace torchport::proof
