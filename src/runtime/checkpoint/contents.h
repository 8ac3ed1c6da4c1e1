// What a checkpoint holds, without loading any of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace torchport::checkpoint {

struct Storage {
  std::string key;     // its name within the file
  std::string dtype;   // as it was saved; "uint8" for untyped bytes
  std::string device;  // where it was when it was saved: "cpu", "cuda:0"
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> stored;  // bytes that the file has of it; none where it has none
  std::optional<std::uint64_t> offset;  // of its bytes within the file
  std::string file;                     // of a checkpoint in several files; empty for the one
};

struct TensorEntry {
  std::string path;  // "model.layer1.weight", "optimizer.state[0].exp_avg"
  std::string kind;  // "tensor", "parameter", "quantized", "sparse", "nested", "subclass"
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;  // elements
  std::int64_t offset = 0;           // elements, into its storage
  std::optional<std::size_t> storage;
  std::string device;
  bool requires_grad = false;
};

// A number, a string, a class: what is no tensor and no container.
struct ValueEntry {
  std::string path;
  std::string text;
};

struct Contents {
  std::string format;  // "torch zip", "torch legacy", "safetensors", "TorchScript", ...
  std::vector<Storage> storages;
  std::vector<TensorEntry> tensors;
  std::vector<ValueEntry> values;
  std::vector<std::string> globals;  // all names that its pickles ask for
  std::vector<std::string> refused;  // those that torch.load(weights_only=True) refuses
  std::vector<std::string> notes;    // what to know before loading it
  std::vector<std::string> broken;   // what is wrong with the file
  // A format without sharing: (name, the tensor that it is the same as).
  std::vector<std::pair<std::string, std::string>> shared;

  [[nodiscard]] std::uint64_t bytes() const;  // of all storages
  [[nodiscard]] std::vector<std::string> devices() const;
};

// Reads a checkpoint: torch.save's zip and legacy formats, TorchScript and torch.export archives,
// safetensors, folders of safetensors with an index and of torch.distributed.checkpoint. Nothing in
// it is run. kIo, kEncoding (no known format), kSyntax (damaged), kBudget; what can still be told
// of a damaged file is told in Contents::broken.
[[nodiscard]] base::Result<Contents> inspect(const std::string& path);

// Bytes an element takes; 0 for what is no dtype of torch.
[[nodiscard]] unsigned element_size(std::string_view dtype);

// "float32" for "torch.FloatStorage", "torch.float32", "F32" (safetensors); empty for others.
[[nodiscard]] std::string dtype_named(std::string_view name);

// "F32" for "float32"; empty where safetensors has none.
[[nodiscard]] std::string safetensors_name(std::string_view dtype);

// Whether torch.load(weights_only=True) of torch 2.13 takes this global without being told to.
[[nodiscard]] bool is_accepted(std::string_view global);

// Whether a global is one that no checkpoint needs and every attack does: os.system, builtins.eval.
[[nodiscard]] bool is_dangerous(std::string_view global);

}  // namespace torchport::checkpoint
