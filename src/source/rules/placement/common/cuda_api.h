// Calls of torch.cuda.*: where they stand, and how they are put behind a test.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "source/rules/rule.h"

namespace torchport::rules {

// "synchronize" for a call of torch.cuda.synchronize, however it was imported;
// "" for every other call.
[[nodiscard]] std::string_view cuda_function(const SemanticModel& model, Node call);

// Whether the call already runs only where CUDA is, inside of a try that
// catches the failure, or in code that is CUDA's by its name.
[[nodiscard]] bool is_prepared(const PythonContext& context, Node call);

// Inside of `for i in range(torch.cuda.device_count())`: never reached without CUDA.
[[nodiscard]] bool in_device_loop(const SemanticModel& model, Node node);

// Whether the call is only looked at: compared, tested, asserted.
[[nodiscard]] bool is_tested(Node call);

// The statement that consists of the call, or of methods called on its result,
// and stands alone on its lines; invalid when there is none.
[[nodiscard]] Node statement_of_call(Node call);

// Puts the statements behind `if condition:`, indented as the file does. All
// of them are neighbours in one block.
[[nodiscard]] std::vector<Edit> guard_statements(const std::vector<Node>& statements,
                                                 std::string_view condition);

// The statement and the ones right after it for which `belongs` holds.
[[nodiscard]] std::vector<Node> run_of_statements(Node first,
                                                  const std::function<bool(Node)>& belongs);

}  // namespace torchport::rules
