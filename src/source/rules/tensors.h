// Answers questions about tensors, their moves and the names that hold them. Rules of several
// families ask these questions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/semantics/semantic_model.h"

namespace torchport::rules {

// Whether a call moves a tensor: `x.to(device)`, `x.to(other)`, `x.cuda()`, `x.cpu()`,
// `x.type_as(y)`, `x.type(torch.cuda.FloatTensor)`; but not `x.to(torch.float16)`.
[[nodiscard]] bool is_move(const semantics::SemanticModel& model, syntax::Node call);

// Whether a call moves to CUDA by its own name: `x.cuda()`, and `x.type(T)` if T may be a tensor
// type of CUDA, also through names and conditional expressions.
[[nodiscard]] bool is_cuda_move(const semantics::SemanticModel& model, syntax::Node call);

// The calls at or below a node (all if it is invalid) that are `.to(...)`, whatever they are given,
// or moves to CUDA.
[[nodiscard]] std::vector<syntax::Node> moves_in(const semantics::SemanticModel& model,
                                                 syntax::Node range = {});

// Whether the expression is moved within the larger expression around it: `(torch.arange(n) +
// 1).view(1, -1).to(x.device)`.
[[nodiscard]] bool is_moved_above(const semantics::SemanticModel& model, syntax::Node expression);

// The places that read the name bound at `target` (an identifier), in the scope that binds it and
// in those inside it, in source order.
[[nodiscard]] std::vector<syntax::Node> reads_of(const semantics::SemanticModel& model,
                                                 syntax::Node target);

// The reads `self.NAME` of an attribute in the methods of the class.
[[nodiscard]] std::vector<syntax::Node> reads_of_attribute(const semantics::SemanticModel& model,
                                                           const semantics::ClassFacts& facts,
                                                           std::string_view name);

// The variables that an assignment binds to the expression or to a value made from it; empty if the
// expression is used in another way.
[[nodiscard]] std::vector<syntax::Node> names_made_of(syntax::Node expression);

// Whether a name is that of DataParallel or DistributedDataParallel, however it was imported.
[[nodiscard]] bool is_parallel_wrapper(std::string_view qualified);

// The outermost expression of the method call chain around an expression: `a.b().c()` for `a`.
[[nodiscard]] syntax::Node chain_top(syntax::Node expression);

// Whether the program puts anything on a device.
[[nodiscard]] bool moves_things(const semantics::SemanticModel& model);

// A string literal in the quotes that the file prefers.
[[nodiscard]] std::string quoted(const semantics::SemanticModel& model, std::string_view text);

}  // namespace torchport::rules
