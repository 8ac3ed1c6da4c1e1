// From files and standard input to the calls of an artefact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torchport/session.h>

#include "runtime/infer/tensor_file.h"

namespace torchport::infer {

// One call: inputs in the contract's order, on the CPU, and how many rows of the data they are.
struct Batch {
  std::size_t index = 0;
  std::int64_t rows = 0;
  std::vector<at::Tensor> inputs;
};

// How a contract's inputs are cut: along dimension 0, which is an axis of its own or of fixed size.
struct Cut {
  std::string axis;           // of dimension 0; empty: of fixed size, or there is none to cut along
  std::int64_t fixed = 0;     // rows of every call where the artefact takes no other number; else 0
  std::vector<bool> inputs;   // which are cut; others go into every call whole
  std::vector<bool> outputs;  // which have a row for each row of the inputs
};

[[nodiscard]] Cut cut_of(const Contract& contract);

struct FeedOptions {
  std::vector<std::string> files;  // "-": .npy arrays from standard input, one after another
  std::int64_t batch_size = 0;     // rows of a call; 0: those of the contract, or all of a file
};

// Gives one batch after another. Not thread safe.
class Feed {
 public:
  // `contract` outlives the feed.
  Feed(const Contract& contract, FeedOptions options);

  // The next batch; nothing at the end. Throws std::runtime_error for data that is not what the
  // contract says, with the file and the input.
  [[nodiscard]] std::optional<Batch> next();

  // Rows in all files; nothing where standard input is among them.
  [[nodiscard]] std::optional<std::int64_t> total_rows() const { return total_rows_; }

 private:
  bool load();
  bool load_stream();
  [[nodiscard]] std::int64_t step(std::int64_t rows) const;

  const Contract& contract_;
  FeedOptions options_;
  Cut cut_;
  std::size_t file_ = 0;           // next of the files
  std::string name_;               // of the data at hand
  std::vector<at::Tensor> chunk_;  // data at hand, in the contract's order
  std::int64_t rows_ = 0;          // of it
  std::int64_t row_ = 0;           // next of them
  std::size_t index_ = 0;
  std::optional<std::int64_t> total_rows_;
};

// The next .npy array of standard input; nothing at its end. Throws std::runtime_error.
[[nodiscard]] std::optional<at::Tensor> read_array_from_input();

}  // namespace torchport::infer
