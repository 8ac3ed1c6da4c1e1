// Follows the parts of a batch through the body of the loop that gets it: which of them stay where
// the loader left them, which are moved to a device, and what a model makes of the moved ones. A
// program that moves one part of a batch says by it that the loader leaves the others on the CPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "source/rules/rule.h"

namespace torchport::rules {

enum class BatchPlace : std::uint8_t {
  kUnknown,
  kLeft,    // a part of the batch, as the loader gave it
  kMoved,   // a part of the batch, moved to a device; perhaps only where the program uses one
  kOutput,  // what a model returned for moved parts, or what was computed from that
};

struct BatchValue {
  BatchPlace place = BatchPlace::kUnknown;
  Node loop;  // the loop that gets the batch
  Node name;  // kLeft, kMoved: the name or element of the batch
  Node move;  // kMoved, kOutput: a call that moved a part

  [[nodiscard]] bool is(BatchPlace wanted) const { return place == wanted; }
};

// Belongs to one thread and to one model, whose life it may not exceed.
class BatchValues {
 public:
  explicit BatchValues(const SemanticModel& model) : model_(model) {}

  // What an expression in a loop over batches is. kUnknown for all that the file does not show.
  [[nodiscard]] BatchValue of(Node expression) { return of(expression, 0); }
  // Whether the callee may be a model that somebody made: `model`, `self.net`, `net.forward`.
  [[nodiscard]] bool may_be_model(Node callee) const;

 private:
  [[nodiscard]] BatchValue of(Node expression, int depth);
  [[nodiscard]] BatchValue compute(Node expression, int depth);
  [[nodiscard]] BatchValue of_name(Node identifier, int depth);
  [[nodiscard]] BatchValue of_binding(const semantics::Binding& binding, Node identifier,
                                      int depth);
  [[nodiscard]] BatchValue of_call(Node call, int depth);
  [[nodiscard]] BatchValue of_method(Node call, std::string_view method, int depth);
  [[nodiscard]] BatchValue of_move(Node call, BatchValue receiver, int depth);
  [[nodiscard]] BatchValue output_of(Node call, int depth);
  [[nodiscard]] bool is_batch_loop(Node loop);

  const SemanticModel& model_;
  std::unordered_map<std::uint32_t, BatchValue> known_;
  std::unordered_map<std::uint32_t, bool> loops_;
};

}  // namespace torchport::rules
