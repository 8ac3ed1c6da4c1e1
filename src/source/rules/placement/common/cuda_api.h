// Analyses calls of torch.cuda.*, and puts them behind a test.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "source/rules/rule.h"
#include "source/semantics/cuda_calls.h"

namespace torchport::rules {

using semantics::cuda_function;

// Whether the call cannot fail for lack of CUDA: it is guarded, in a `try` that catches the
// failure, or in code that is for CUDA by its name.
[[nodiscard]] bool is_prepared(const PythonContext& context, Node call);

// Whether the node is in `for i in range(torch.cuda.device_count())`, which never runs without
// CUDA.
[[nodiscard]] bool in_device_loop(const SemanticModel& model, Node node);

// Whether the call's result is only compared, tested or asserted.
[[nodiscard]] bool is_tested(Node call);

// The statement that consists only of the call, or of methods called on its result, and shares its
// lines with no other; invalid if there is none.
[[nodiscard]] Node statement_of_call(Node call);

// Puts the statements under `if condition:`, indented as the file does. REQUIRED: they are
// neighbours in one block.
[[nodiscard]] std::vector<Edit> guard_statements(const std::vector<Node>& statements,
                                                 std::string_view condition);

// The statement, and those directly after it for which `belongs` is true.
[[nodiscard]] std::vector<Node> run_of_statements(Node first,
                                                  const std::function<bool(Node)>& belongs);

}  // namespace torchport::rules
