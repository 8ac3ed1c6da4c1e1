// Cuts the data of files and standard input into calls of an artefact.
//
// Data sets are larger than memory and files do not end at batch boundaries. So a Feed yields one
// batch at a time, and everything else in torchport-infer sees only batches.
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

// One call: the inputs in the contract's order, on the CPU, and the number of data rows that they
// are.
struct Batch {
  std::size_t index = 0;
  std::int64_t rows = 0;
  std::vector<at::Tensor> inputs;
};

// How a contract's inputs are cut into batches. They are cut along dimension 0, which is an axis of
// the contract or has a fixed size.
struct Cut {
  std::string axis;  // the axis of dimension 0; empty if its size is fixed or if nothing is cut
  std::int64_t fixed = 0;     // rows of each call if the artefact takes no other number; else 0
  bool whole = false;         // the rows of the data depend on each other: one call takes all
  std::vector<bool> inputs;   // whether each is cut; the others go whole into every call
  std::vector<bool> outputs;  // whether each has one row per row of the inputs
};

[[nodiscard]] Cut cut_of(const Contract& contract);

struct FeedOptions {
  std::vector<std::string> files;  // "-": consecutive .npy arrays from standard input
  std::int64_t batch_size = 0;     // rows of a call; 0: as the contract says, or a whole file
};

// Yields one batch after another. Not thread safe.
class Feed {
 public:
  // `contract` must outlive the feed.
  Feed(const Contract& contract, FeedOptions options);

  // The next batch; none at the end. Throws std::runtime_error, which names the file and the input,
  // for data that does not match the contract.
  [[nodiscard]] std::optional<Batch> next();

  // The number of rows in all files; none if standard input is among them.
  [[nodiscard]] std::optional<std::int64_t> total_rows() const { return total_rows_; }
  // The rows of a call if data was cut only because the contract allows no more; else none.
  [[nodiscard]] std::optional<std::int64_t> cut_by_contract() const { return cut_by_contract_; }

 private:
  bool load();
  bool load_stream();
  [[nodiscard]] std::int64_t step(std::int64_t rows) const;

  const Contract& contract_;
  FeedOptions options_;
  Cut cut_;
  std::size_t file_ = 0;           // the index of the next file
  std::string name_;               // of the current data
  std::vector<at::Tensor> chunk_;  // the current data, in the contract's order
  std::int64_t rows_ = 0;          // of the current data
  std::int64_t row_ = 0;           // the next one
  std::size_t index_ = 0;
  std::optional<std::int64_t> total_rows_;
  std::optional<std::int64_t> cut_by_contract_;
};

// The next .npy array of standard input; none at its end. Throws std::runtime_error for damaged
// data.
[[nodiscard]] std::optional<at::Tensor> read_array_from_input();

}  // namespace torchport::infer
