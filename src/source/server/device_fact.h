// Says for a place in a file what is known of the device of the value there: what it is, where it
// lives, and which expression put it there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/flow/summary.h"
#include "source/semantics/semantic_model.h"

namespace torchport::server {

struct DeviceFact {
  semantics::Node subject;  // the name or attribute that it is about
  semantics::Type type = semantics::Type::kUnknown;
  semantics::DeviceState state = semantics::DeviceState::kUnknown;
  semantics::Node follows;  // kFollows: the expression that names the device; may be invalid
  semantics::Node made;     // the expression that put it there; may be invalid
  std::optional<flow::Result> result;  // of a function in another file, which put it there
};

// What a file's values are looked up in.
struct DeviceQuestion {
  const semantics::SemanticModel& model;
  std::string_view path;         // of the file, as the project names it
  const flow::Summary* project;  // null: nothing is known of other files
};

// The fact for the name at an offset; none if it is nothing that has a device, as far as is known.
[[nodiscard]] std::optional<DeviceFact> device_fact_at(const DeviceQuestion& question,
                                                       std::uint32_t offset);
// The facts for the names assigned between two offsets, for hints beside them: tensors and modules
// that live on CUDA or where an expression says.
[[nodiscard]] std::vector<DeviceFact> assigned_facts(const DeviceQuestion& question,
                                                     base::Span range);

// "a tensor", "an nn.Module"; "a value" if the type is not known.
[[nodiscard]] std::string type_in_words(semantics::Type type);
// The start of an expression's text, in one line.
[[nodiscard]] std::string shortened_text(semantics::Node expression);

}  // namespace torchport::server
