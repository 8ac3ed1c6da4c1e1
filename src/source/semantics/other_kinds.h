// Finds out whether code knows of accelerators other than CUDA.
#pragma once

#include <string_view>

#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

// Whether a text has the name of another kind of device as a word, or as a part between
// underscores: "is_npu", "torch.backends.mps".
[[nodiscard]] bool names_other_kinds(std::string_view text);

// Whether another kind is named in the same function or, at module level, in the statement or those
// around it.
[[nodiscard]] bool other_kinds_are_near(Node node);

// Whether this is torch.nn.DataParallel by one of its names. It moves its inputs on CUDA alone,
// does nothing on mps, and raises elsewhere.
[[nodiscard]] bool is_data_parallel(std::string_view qualified);

// Whether the file shows a call of the result of a call (of DataParallel) with an argument that it
// does not move. DataParallel moves its inputs to its first device, also if that is its only one.
[[nodiscard]] bool gets_host_inputs(const SemanticModel& model, Node wrapping);

// What of a file is well on CUDA and the CPU only. What meets it must not choose from more kinds:
// it would be on mps where this is on the CPU.
struct CudaOrCpu {
  // It has something on CUDA where CUDA is and otherwise leaves it on the CPU (`.cuda()` below a
  // test for CUDA, a choice by more than that test, a test whose answer goes where no analysis
  // follows), it names float64, which mps does not have, nor every GPU of Intel, or it has
  // DataParallel move its inputs. No fix changes that.
  bool keeps = false;
  // It chooses by asking for CUDA alone, `"cuda" if torch.cuda.is_available() else "cpu"`, or it
  // has DataParallel without a test for its devices. Unsafe fixes (TP106, TP401) change that.
  bool chooses = false;
};
[[nodiscard]] CudaOrCpu cuda_or_cpu(const SemanticModel& model);

}  // namespace torchport::semantics
