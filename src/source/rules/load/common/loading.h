// Analyses where checkpoints are read, and what happens to the loaded object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/rules/rule.h"

namespace torchport::rules {

// The position of `map_location` among the arguments of a function that loads tensors; none for
// other functions.
[[nodiscard]] std::optional<std::size_t> map_location_position(std::string_view qualified);

// Whether the call reads what the same function wrote just before, to a buffer in memory or a
// temporary file. Its content is then known to come from this program.
[[nodiscard]] bool reads_own_output(const SemanticModel& model, Node call);

// The functions of the project that are called before the load with its path, or with a part of it,
// or that give the path: if one of them saves a file, it is this one. Each is a flow::Callee.
[[nodiscard]] std::vector<std::string> writers_before(const SemanticModel& model, Node call);

// Whether the loaded object is the state of a learning rate scheduler, which holds numbers and no
// tensors.
[[nodiscard]] bool is_scheduler_state(const SemanticModel& model, Node call);

// What a loaded object is used for.
enum class LoadedUse : std::uint8_t {
  kStateDict,  // only passed to load_state_dict, which copies to the parameters' device
  kModel,      // used as a module
  kOther,
};
[[nodiscard]] LoadedUse use_of_loaded(const SemanticModel& model, Node call);

// Whether the file holds only a state dict, as far as the code shows: the object (or its entry
// `params`) goes to load_state_dict, or its name says so.
[[nodiscard]] bool holds_weights(const SemanticModel& model, Node call);

// Whether what is loaded is NumPy arrays: it goes to torch.from_numpy, or has astype().
[[nodiscard]] bool holds_numpy(const SemanticModel& model, Node call);

// Whether the file holds only data that was never on a device: a dataset, a vocabulary, statistics,
// losses.
[[nodiscard]] bool holds_no_weights(const SemanticModel& model, Node call);

}  // namespace torchport::rules
