// Where checkpoints are read, and what becomes of what was read.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "source/rules/rule.h"

namespace torchport::rules {

// The position of `map_location` in a function that loads tensors; nothing for other functions.
[[nodiscard]] std::optional<std::size_t> map_location_position(std::string_view qualified);

// Whether the call reads back what the same function wrote just before: a
// buffer in memory, a temporary file. Whatever it holds was made here.
[[nodiscard]] bool reads_own_output(const SemanticModel& model, Node call);

// Whether the loaded object is the state of a learning rate scheduler: numbers, no tensors.
[[nodiscard]] bool is_scheduler_state(const SemanticModel& model, Node call);

// What a loaded object is used for.
enum class LoadedUse : std::uint8_t {
  kStateDict,  // only handed to load_state_dict, which copies to where the parameters are
  kModel,      // used as a module as it is
  kOther,
};
[[nodiscard]] LoadedUse use_of_loaded(const SemanticModel& model, Node call);

// Whether the file holds a state dict and nothing else, as far as the code shows: the object goes
// to load_state_dict as it is (or by the one entry `params`), or its name says so.
[[nodiscard]] bool holds_weights(const SemanticModel& model, Node call);

// Whether the file holds data or plain entries, and no tensor that could have been on a device:
// a dataset, a vocabulary, statistics, losses.
[[nodiscard]] bool holds_no_weights(const SemanticModel& model, Node call);

}  // namespace torchport::rules
