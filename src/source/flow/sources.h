// Follows a value back to where its tensors come from.
#pragma once

#include "source/flow/facts.h"

namespace torchport::flow {

// Where the tensors in a value come from. Without any source, it has none, or they were made on the
// CPU.
struct Sources {
  bool elsewhere = false;             // from where the file does not say, or moved to a device
  std::vector<std::uint16_t> inputs;  // parameters of the function around it
  std::vector<Callee> results;        // functions whose results it contains

  void add(Sources other);
  [[nodiscard]] bool operator==(const Sources&) const = default;
};

// The sources of expressions in one file. It belongs to one thread, because it caches its answers.
class SourceFinder {
 public:
  explicit SourceFinder(const semantics::SemanticModel& model)
      : model_(model), known_(model.tree().size()) {}

  [[nodiscard]] Sources of(syntax::Node expression) { return of(expression, 0); }

 private:
  [[nodiscard]] Sources of(syntax::Node expression, int depth);
  [[nodiscard]] Sources anew(syntax::Node expression, int depth);
  [[nodiscard]] Sources of_name(syntax::Node identifier, int depth);
  [[nodiscard]] Sources of_attribute(syntax::Node attribute, int depth);
  [[nodiscard]] Sources of_call(syntax::Node call, int depth);
  [[nodiscard]] Sources of_arguments(syntax::Node call, int depth);

  // An answer, or the number of the question that is being answered.
  struct Answer {
    Sources sources;
    std::uint32_t open = 0;
  };

  const semantics::SemanticModel& model_;
  semantics::NodeMap<Answer> known_;
  std::uint32_t questions_ = 0;    // that are being answered
  std::uint32_t outermost_ = ~0U;  // of those that the current one came back to
  std::uint32_t steps_ = 0;
};

// Whom a call calls; "" if it is nothing that a project could define.
[[nodiscard]] Callee callee_of(const semantics::SemanticModel& model, syntax::Node call);
// The same for a name or an attribute that is not called.
[[nodiscard]] Callee referred_to(const semantics::SemanticModel& model, syntax::Node expression);

}  // namespace torchport::flow
