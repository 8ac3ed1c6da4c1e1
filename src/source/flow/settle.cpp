// Decides what a Summary says, from the calls of each function.
#include <algorithm>
#include <future>
#include <utility>

#include "source/flow/joined.h"

namespace torchport::flow {

namespace {

// What a call says about a statement: it is fine, it refutes it, or it is fine if another
// statement, which is named by its number, holds.
constexpr std::uint32_t kFine = ~0U;
constexpr std::uint32_t kNever = ~0U - 1;

// Settles statements that hold if all their calls are fine. Each call is looked at until it is fine
// and then never again, so the cost is linear in the number of calls. A circle of statements that
// only wait for each other does not hold.
template <class CallCount, class WaitsFor>
void settle_all(std::vector<char>& holds, std::vector<std::uint32_t> open,
                const CallCount& call_count, const WaitsFor& waits_for) {
  std::vector<std::uint32_t> looked_at(holds.size(), 0);
  // A statement waits for one other; those that wait for the same one are in a list.
  constexpr std::uint32_t kNone = ~0U;
  std::vector<std::uint32_t> first_waiting(holds.size(), kNone);
  std::vector<std::uint32_t> next_waiting(holds.size(), kNone);
  while (!open.empty()) {
    const std::uint32_t statement = open.back();
    open.pop_back();
    std::uint32_t answer = kFine;
    std::uint32_t& at = looked_at[statement];
    for (const std::size_t count = call_count(statement); at < count; ++at) {
      answer = waits_for(statement, at);
      if (answer != kFine) break;
    }
    if (answer == kNever) continue;
    if (answer != kFine) {
      next_waiting[statement] = std::exchange(first_waiting[answer], statement);
      continue;
    }
    holds[statement] = 1;
    for (std::uint32_t next = std::exchange(first_waiting[statement], kNone); next != kNone;
         next = std::exchange(next_waiting[next], kNone))
      open.push_back(next);
  }
}

}  // namespace

bool Summary::Joined::are_pure(std::uint32_t file, std::span<const TextNumber> results) {
  return std::all_of(results.begin(), results.end(), [&](TextNumber callee) {
    const auto meant = resolve(file, callee);
    return std::all_of(meant.begin(), meant.end(), [&](std::uint32_t target) {
      return functions[target].pure && last_part(name_of(functions[target])) != "__init__";
    });
  });
}

Lists<Summary::Joined::Return> Summary::Joined::link_results() {
  Lists<Return> returns;
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    const FunctionOfProject& function = functions[i];
    const FileFacts& facts = files[function.file].facts;
    for (const TextNumber callee :
         FileFacts::part(facts.results, function.facts->results.results)) {
      const auto meant = resolve(function.file, callee);
      for (const std::uint32_t target : meant) returns.add(target, {i, meant.size() == 1});
    }
  }
  returns.build(functions.size());
  return returns;
}

// Spreads from the functions that bring something from elsewhere to those that return it.
void Summary::Joined::settle_purity(const Lists<Return>& returns) {
  std::vector<std::uint32_t> impure;
  for (FunctionOfProject& function : functions) function.pure = !function.facts->results.elsewhere;
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    // A constructor makes something else than it returns.
    if (last_part(name_of(functions[i])) == "__init__")
      for (const Return& made : returns[i]) functions[made.by].pure = false;
  }
  for (std::uint32_t i = 0; i < functions.size(); ++i)
    if (!functions[i].pure) impure.push_back(i);
  while (!impure.empty()) {
    const std::uint32_t from = impure.back();
    impure.pop_back();
    for (const Return& made : returns[from])
      if (std::exchange(functions[made.by].pure, false)) impure.push_back(made.by);
  }
}

std::uint32_t Summary::Joined::waits_for_slot(const CallOf& call, const Origins& origins,
                                              std::uint32_t own) {
  const FileFacts& facts = files[call.file].facts;
  if (origins.elsewhere || !are_pure(call.file, FileFacts::part(facts.results, origins.results)))
    return kNever;
  for (const std::uint16_t input : FileFacts::part(facts.inputs, origins.inputs)) {
    if (call.caller == kNoFunction) return kNever;
    const FunctionOfProject& caller = functions[call.caller];
    if (input >= caller.facts->parameters.count) return kNever;
    const std::uint32_t slot = caller.first_slot + input;
    if (from_cpu[slot] == 0 && slot != own) return slot;
  }
  return kFine;
}

std::uint32_t Summary::Joined::waits_for_slot(const FunctionOfProject& function,
                                              std::uint32_t parameter, const CallOf& call) {
  if (call.call->unknown_arguments) return kNever;
  const std::uint32_t own = function.first_slot + parameter;
  const FileFacts& facts = files[function.file].facts;
  const FileFacts& of_caller = files[call.file].facts;
  const auto parameters = FileFacts::part(facts.parameters, function.facts->parameters);
  const std::string_view wanted = facts.text(parameters[parameter]);
  for (const Argument& argument : FileFacts::part(of_caller.arguments, call.call->keywords))
    if (of_caller.text(argument.keyword) == wanted)
      return waits_for_slot(call, argument.origins, own);
  // Its place among the positional arguments. A call through an object has no self.
  const std::string_view first = facts.text(parameters.front());
  const bool bound = first == "self" || first == "cls";
  std::size_t place = 0;
  for (std::size_t i = bound ? 1 : 0; i < parameter; ++i) {
    const std::string_view before = facts.text(parameters[i]);
    if (before.starts_with('*')) return kFine;  // keyword only, and not given
    place += before == "/" ? 0 : 1;
  }
  // A default is a constant or None.
  const auto positional = FileFacts::part(of_caller.arguments, call.call->positional);
  return place >= positional.size() ? kFine : waits_for_slot(call, positional[place].origins, own);
}

void Summary::Joined::settle() {
  with_cuda.assign(functions.size(), 0);
  from_cpu.assign(slots, 0);
  std::vector<std::uint32_t> open;
  std::vector<std::uint32_t> open_slots;
  std::vector<std::uint32_t> owners(slots);
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    const FunctionOfProject& function = functions[i];
    const bool settled = is_settled_by_calls(function);
    if (settled) open.push_back(i);
    for (std::uint32_t p = 0; p < function.facts->parameters.count; ++p) {
      owners[function.first_slot + p] = i;
      from_cpu[function.first_slot + p] = function.facts->feeds ? 1 : 0;
      if (settled && !function.facts->feeds) open_slots.push_back(function.first_slot + p);
    }
  }
  // The two have nothing to do with each other.
  std::future<void> of_functions = std::async([&] {
    settle_all(
        with_cuda, std::move(open), [&](std::uint32_t f) { return call_count(f); },
        [&](std::uint32_t f, std::size_t at) {
          const CallOf& by = call(f, at);
          const auto index = by.call - files[by.file].facts.calls.data();
          const bool is_refused =
              refused[first_call[by.file] + static_cast<std::size_t>(index)] != 0;
          if (by.call->guarded || is_refused || by.caller == f) return kFine;
          if (by.caller == kNoFunction) return kNever;
          return with_cuda[by.caller] != 0 ? kFine : by.caller;
        });
  });
  settle_all(
      from_cpu, std::move(open_slots), [&](std::uint32_t slot) { return call_count(owners[slot]); },
      [&](std::uint32_t slot, std::size_t at) {
        const FunctionOfProject& function = functions[owners[slot]];
        return waits_for_slot(function, slot - function.first_slot, call(owners[slot], at));
      });
  of_functions.get();
}

}  // namespace torchport::flow
