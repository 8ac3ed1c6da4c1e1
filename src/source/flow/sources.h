// Follows a value back to where its tensors come from.
#pragma once

#include <unordered_map>

#include "source/flow/facts.h"

namespace torchport::flow {

// The sources of expressions in one file. It belongs to one thread, because it caches its answers.
class SourceFinder {
 public:
  explicit SourceFinder(const semantics::SemanticModel& model) : model_(model) {}

  [[nodiscard]] Sources of(syntax::Node expression) { return of(expression, 0); }

 private:
  [[nodiscard]] Sources of(syntax::Node expression, int depth);
  [[nodiscard]] Sources anew(syntax::Node expression, int depth);
  [[nodiscard]] Sources of_name(syntax::Node identifier, int depth);
  [[nodiscard]] Sources of_attribute(syntax::Node attribute, int depth);
  [[nodiscard]] Sources of_call(syntax::Node call, int depth);
  [[nodiscard]] Sources of_arguments(syntax::Node call, int depth);

  const semantics::SemanticModel& model_;
  std::unordered_map<std::uint32_t, Sources> known_;
};

// Whom a call calls; "" if it is nothing that a project could define.
[[nodiscard]] Callee callee_of(const semantics::SemanticModel& model, syntax::Node call);
// The same for a name or an attribute that is not called.
[[nodiscard]] Callee referred_to(const semantics::SemanticModel& model, syntax::Node expression);

}  // namespace torchport::flow
