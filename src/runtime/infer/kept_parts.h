// Results that are kept on disk until all are there, so that a run that ended early goes on where
// it was.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torchport/session.h>

namespace torchport::infer {

// The run that parts belong to: the artefact's contract, which has the hashes of its bytes, the
// inputs with their sizes and times, and the rows of a call, as JSON. Throws std::runtime_error for
// a file that cannot be read.
[[nodiscard]] std::string plan_of(const std::string& contract,
                                  const std::vector<std::string>& files, std::int64_t batch_size);

// The folder OUTPUT.parts: a file for each stretch of batches that is done, and the plan. It is
// made with the first part, since most runs are short. Not thread safe. Its functions throw
// std::runtime_error for what cannot be read or written.
class KeptParts {
 public:
  struct Settings {
    std::string output;
    std::string plan;                // see plan_of()
    std::vector<std::string> names;  // of the outputs
    std::chrono::seconds every{10};  // how often what is done is kept
    bool fresh = false;              // deletes the parts of an earlier run first
  };
  // Refuses the parts of another plan.
  explicit KeptParts(Settings settings);

  // What an earlier run has left: the outputs of the first `batches` batches, one tensor for each
  // output and stretch.
  struct Found {
    std::size_t batches = 0;
    std::vector<std::vector<at::Tensor>> stretches;
  };
  [[nodiscard]] Found found() const;

  // Whether it is time to keep what has been done since the last part.
  [[nodiscard]] bool is_due() const;
  // Keeps the outputs of batches [first, last), joined.
  void add(std::size_t first, std::size_t last, const std::vector<at::Tensor>& outputs);
  // Deletes the folder, once the result is written.
  void remove() const;

  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  using Clock = std::chrono::steady_clock;

  Settings settings_;
  std::string folder_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace torchport::infer
