// Questions about tensors, their moves and the names that hold them, which the
// rules of several families ask.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/semantics/semantic_model.h"

namespace torchport::rules {

// `x.to(device)`, `x.to(other)`, `x.cuda()`, `x.cpu()`, `x.type_as(y)`; not `x.to(torch.float16)`.
[[nodiscard]] bool is_move(const semantics::SemanticModel& model, syntax::Node call);

// Whether the expression is moved inside the expression it stands in:
// `(torch.arange(n) + 1).view(1, -1).to(x.device)`.
[[nodiscard]] bool is_moved_above(const semantics::SemanticModel& model, syntax::Node expression);

// The places that read the name bound at `target` (an identifier), in the
// scope that binds it and further in, in source order.
[[nodiscard]] std::vector<syntax::Node> reads_of(const semantics::SemanticModel& model,
                                                 syntax::Node target);

// The whole `self.NAME` reads of an attribute in the methods of the class.
[[nodiscard]] std::vector<syntax::Node> reads_of_attribute(const semantics::SemanticModel& model,
                                                           const semantics::ClassFacts& facts,
                                                           std::string_view name);

// The variables an assignment statement binds when the expression, or what is
// made of it, is its value; empty when it is used otherwise.
[[nodiscard]] std::vector<syntax::Node> names_made_of(syntax::Node expression);

// DataParallel and DistributedDataParallel, whichever way they are imported.
[[nodiscard]] bool is_parallel_wrapper(std::string_view qualified);

// The outermost method call chain around an expression: `a.b().c()` for `a`.
[[nodiscard]] syntax::Node chain_top(syntax::Node expression);

// Whether the program puts anything on a device at all.
[[nodiscard]] bool moves_things(const semantics::SemanticModel& model);

// A string literal in the quotes that the file prefers.
[[nodiscard]] std::string quoted(const semantics::SemanticModel& model, std::string_view text);

}  // namespace torchport::rules
