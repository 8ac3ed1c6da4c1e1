// Answers questions about inference code: is this a call of a model, does this code train, are
// gradients recorded here?
#pragma once

#include <string_view>
#include <vector>

#include "source/flow/summary.h"
#include "source/rules/value_history.h"
#include "source/semantics/semantic_model.h"

namespace torchport::rules {

// Whether code below the node uses gradients: backward(), zero_grad(), autograd.grad,
// requires_grad, x.grad.
[[nodiscard]] bool uses_gradients(const semantics::SemanticModel& model, syntax::Node range);
// Whether code below the node trains: it uses gradients, creates an optimizer or calls
// model.train().
[[nodiscard]] bool trains(const semantics::SemanticModel& model, syntax::Node range);

// Whether autograd is off at the node: because of `with torch.no_grad()`, a decorator or
// inference_mode, or because every caller in the file switched it off.
[[nodiscard]] bool gradients_off(const semantics::SemanticModel& model, syntax::Node node);

// Whether the call runs a network: its callee is known to be a module, or has a name that people
// give to networks.
[[nodiscard]] bool is_model_call(const semantics::SemanticModel& model, syntax::Node call);

// The calls of networks that belong directly to a function (or to the module), in order.
[[nodiscard]] std::vector<syntax::Node> model_calls(const semantics::SemanticModel& model,
                                                    syntax::Node scope);

// Whether `x.eval()` or `x.train(False)` is called below the node.
[[nodiscard]] bool calls_eval(const semantics::SemanticModel& model, syntax::Node range);

// The conditions under which another function of the project has called eval() on a model: the
// functions that made it do, or one that got it before the use.
[[nodiscard]] std::vector<flow::Condition> evaluated_elsewhere(
    const semantics::SemanticModel& model, const ValueHistory& trace, syntax::Node use);

// Whether a function's name says that it infers: predict, infer, evaluate, validate, test_step and
// the like.
[[nodiscard]] bool is_inference_name(std::string_view function);

}  // namespace torchport::rules
