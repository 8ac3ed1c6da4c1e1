// Spreads the traits of functions to those that call them.
#include <algorithm>
#include <utility>

#include "source/flow/joined.h"
#include "source/flow/traits.h"

namespace torchport::flow {

void Summary::Joined::settle_traits(const Lists<Return>& returns) {
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    functions[i].traits = functions[i].facts->traits;
    if (functions[i].traits != 0) open.push_back(i);
  }
  while (!open.empty()) {
    const std::uint32_t from = open.back();
    open.pop_back();
    const auto hand_on = [&](std::uint32_t to, unsigned traits) {
      const unsigned more = functions[from].traits & traits & ~functions[to].traits;
      if (more == 0) return;
      functions[to].traits |= more;
      open.push_back(to);
    };
    for (const Return& made : returns[from])
      if (made.surely) hand_on(made.by, kGivesCpu | kEvaluates);
    for (const CallOf& call : calls[from])
      if (call.caller != kNoFunction)
        hand_on(call.caller, kWrites | (call.call->surely ? kRefuses : 0U));
  }
  settle_refusals();
}

bool Summary::Joined::have_trait(std::span<const std::uint32_t> meant, unsigned trait) const {
  return !meant.empty() && std::all_of(meant.begin(), meant.end(), [&](std::uint32_t target) {
    return (functions[target].traits & trait) != 0;
  });
}

bool Summary::Joined::has_trait(std::uint32_t file, const Callee& callee, unsigned trait) const {
  if (callee.empty()) return false;
  if (callee.front() == '.') {
    const auto found = method_numbers.find(std::string_view(callee).substr(1));
    return found != method_numbers.end() && have_trait(methods[found->second], trait);
  }
  std::vector<std::uint32_t> meant;
  named(file, callee, meant);
  return have_trait(meant, trait);
}

// Which calls run only after one that refuses what is not on CUDA.
void Summary::Joined::settle_refusals() {
  const bool any = std::any_of(functions.begin(), functions.end(), [](const auto& function) {
    return (function.traits & kRefuses) != 0;
  });
  if (!any) return;
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const std::vector<Call>& of_file = files[file].facts.calls;
    char* refused_here = refused.data() + first_call[file];
    for (std::size_t i = 0; i < of_file.size(); ++i) {
      // A call comes after those before it in the list only.
      const std::uint32_t after = of_file[i].after;
      if (after == 0 || after > i) continue;
      if (refused_here[after - 1] != 0 ||
          have_trait(resolve(file, of_file[after - 1].callee), kRefuses))
        refused_here[i] = 1;
    }
  }
}

}  // namespace torchport::flow
