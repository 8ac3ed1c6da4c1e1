// Describes what a checkpoint holds, without loading any of it.
//
// All formats are read into one structure, so that `torchport inspect`, loading and the check of an
// artefact do not depend on the format. Offsets and sizes are in bytes unless a comment says
// elements. The file is hostile until proven otherwise: it is never executed, and what is wrong
// with it is data (Contents::broken), because a damaged file is when people most need to see the
// rest.
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
  std::string key;     // its name in the file
  std::string dtype;   // the dtype it was saved with; "uint8" for untyped bytes
  std::string device;  // the device it was saved from: "cpu", "cuda:0"
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> stored;  // how many of its bytes the file has; none if it has none
  std::optional<std::uint64_t> offset;  // where its bytes begin in the file
  std::string file;                     // the file of a checkpoint in several files; else empty
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

// A value that is neither a tensor nor a container: a number, a string, a class.
struct ValueEntry {
  std::string path;
  std::string text;
};

struct Contents {
  std::string format;  // "torch zip", "torch legacy", "safetensors", "TorchScript", ...
  std::vector<Storage> storages;
  std::vector<TensorEntry> tensors;
  std::vector<ValueEntry> values;
  std::vector<std::string> globals;  // all names that its pickles refer to
  std::vector<std::string> refused;  // those of them that torch.load(weights_only=True) refuses
  std::vector<std::string> notes;    // what to know before loading it
  std::vector<std::string> broken;   // what is wrong with the file
  std::vector<std::string> dangers;  // what loading it with Python's pickle would run
  // For a format that cannot express sharing: (name, the tensor that it equals).
  std::vector<std::pair<std::string, std::string>> shared;

  [[nodiscard]] std::uint64_t bytes() const;  // of all storages
  // The first of `dangers` and `broken`; empty if nothing is wrong.
  [[nodiscard]] std::string fault() const;
  [[nodiscard]] std::vector<std::string> devices() const;
};

// Reads a checkpoint: torch.save's ZIP and legacy formats, TorchScript and torch.export archives,
// safetensors, folders of safetensors with an index and folders of torch.distributed.checkpoint.
// Runs nothing of it. Fails with kIo, kEncoding (unknown format), kSyntax (damaged) or kBudget (too
// large); if a damaged file still tells something, this succeeds and Contents::broken says what is
// wrong. Thread safe.
[[nodiscard]] base::Result<Contents> inspect(const std::string& path);

// The first names of a list, for a message: "a, b, c and 397 more".
[[nodiscard]] std::string first_names(const std::vector<std::string>& names);

// The bytes of one element; 0 for a name that is not a dtype of torch.
[[nodiscard]] unsigned element_size(std::string_view dtype);

// The dtype's name: "float32" for "torch.FloatStorage", "torch.float32" and safetensors' "F32".
// Empty for other texts.
[[nodiscard]] std::string dtype_named(std::string_view name);

// The name that safetensors has for a dtype: "F32" for "float32". Empty if it has none.
[[nodiscard]] std::string safetensors_name(std::string_view dtype);

// Whether torch.load(weights_only=True) of torch 2.13 accepts this global without
// add_safe_globals().
[[nodiscard]] bool is_accepted(std::string_view global);

// Whether this global has no use in a checkpoint except to run code when it is loaded: os.system,
// builtins.eval.
[[nodiscard]] bool is_dangerous(std::string_view global);

}  // namespace torchport::checkpoint
