// Finds the settings that turn CUDA on, whose value the file itself writes: `use_cuda = True`,
// `--no-cuda` without a test. Code behind them runs with CUDA on every machine, until someone
// changes the setting.
#pragma once

#include <string>
#include <vector>

#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

struct CudaSwitch {
  Node declared;     // the assignment, the pair, the keyword, or the call that makes an option
  Node value;        // the literal that is its value; invalid for an option that has none
  std::string name;  // "use_cuda", also for "--use-cuda"
  bool on = true;    // whether CUDA is on where the switch is true: not for no_cuda
  // Whether it is the number of a device, which turns CUDA off below 0: `--gpu` with `default=0`,
  // then `if args.gpu >= 0:`.
  bool number = false;
};

// The switches of a file that are on, and that decide alone whether something is moved to CUDA: no
// line of the file gives the switch another value or asks beside it whether there is CUDA.
class CudaSwitches {
 public:
  explicit CudaSwitches(const SemanticModel& model);

  [[nodiscard]] const std::vector<CudaSwitch>& all() const { return switches_; }

 private:
  void find_constants(const SemanticModel& model);
  void find_pairs(const SemanticModel& model);
  void find_fields(const SemanticModel& model);
  void find_options(const SemanticModel& model);

  std::vector<CudaSwitch> switches_;
};

}  // namespace torchport::semantics
