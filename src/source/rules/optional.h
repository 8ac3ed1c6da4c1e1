// Decides whether code is optional: a program that cannot run it continues without it. An import or
// a compilation that fails without CUDA is then not reported.
#pragma once

#include <initializer_list>
#include <string_view>

#include "source/semantics/semantic_model.h"

namespace torchport::rules {

// Whether the node is in the body of a `try` whose handler catches one of these exceptions and
// continues. A bare `except`, Exception and BaseException catch all. With `raising_too` the handler
// may also raise, which gives the user a clear error.
[[nodiscard]] bool is_caught(const semantics::SemanticModel& model, syntax::Node node,
                             std::initializer_list<std::string_view> exceptions,
                             bool raising_too = false);
// The same for ImportError, which a missing package raises.
[[nodiscard]] bool is_optional_import(const semantics::SemanticModel& model, syntax::Node import);

// The closest `if`, `elif`, `else` or conditional expression that decides
// whether the node runs; `if __name__ == "__main__"` does not count.
[[nodiscard]] syntax::Node deciding_branch(syntax::Node node);

// Whether the node runs only if the user asks for it in the environment: `if os.getenv("APP_JIT")
// == "1":`, also through names.
[[nodiscard]] bool is_asked_for(const semantics::SemanticModel& model, syntax::Node node);

// Whether an expression reads the environment, also through names.
[[nodiscard]] bool reads_environment(const semantics::SemanticModel& model,
                                     syntax::Node expression);

// Whether the name of the file, or of one of the two folders around it, contains the word.
[[nodiscard]] bool path_speaks_of(std::string_view path, std::string_view word);

}  // namespace torchport::rules
