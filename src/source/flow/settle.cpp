// Decides what a Summary says, from the calls of each function.
#include <algorithm>

#include "source/flow/joined.h"

namespace torchport::flow {

namespace {

// What a call says about a statement: it is fine, it refutes it, or it is fine if another
// statement, which is named by its number, holds.
constexpr std::uint32_t kFine = ~0U;
constexpr std::uint32_t kNever = ~0U - 1;

// Methods that are called by other means than their name.
bool is_called_by_name(std::string_view method) {
  return method == "__init__" || (method != "forward" && !method.starts_with("__"));
}

// Settles statements that hold if all their calls are fine. Each call is looked at until it is fine
// and then never again, so the cost is linear in the number of calls. A circle of statements that
// only wait for each other does not hold.
template <class CallCount, class WaitsFor>
void settle_all(std::vector<char>& holds, std::vector<std::uint32_t> open,
                const CallCount& call_count, const WaitsFor& waits_for) {
  std::vector<std::size_t> looked_at(holds.size(), 0);
  std::vector<std::vector<std::uint32_t>> waiting(holds.size());
  while (!open.empty()) {
    const std::uint32_t statement = open.back();
    open.pop_back();
    std::uint32_t answer = kFine;
    std::size_t& at = looked_at[statement];
    for (const std::size_t count = call_count(statement); at < count; ++at) {
      answer = waits_for(statement, at);
      if (answer != kFine) break;
    }
    if (answer == kNever) continue;
    if (answer != kFine) {
      waiting[answer].push_back(statement);
      continue;
    }
    holds[statement] = 1;
    open.insert(open.end(), waiting[statement].begin(), waiting[statement].end());
    waiting[statement].clear();
  }
}

}  // namespace

bool FunctionOfProject::is_settled_by_calls() const {
  return evidence && !ambiguous && !doubted && is_called_by_name(last_part(facts->name));
}

bool Summary::Joined::are_pure(std::uint32_t file, const std::vector<Callee>& results) {
  return std::all_of(results.begin(), results.end(), [&](const Callee& callee) {
    const auto targets = resolve(file, callee);
    return std::all_of(targets.begin(), targets.end(), [&](std::uint32_t target) {
      return functions[target].pure && last_part(functions[target].facts->name) != "__init__";
    });
  });
}

// Spreads from the functions that bring something from elsewhere to those that return it.
void Summary::Joined::settle_purity() {
  std::vector<std::vector<std::uint32_t>> returned_by(functions.size());
  std::vector<std::uint32_t> impure;
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    FunctionOfProject& function = functions[i];
    function.pure = !function.facts->results.elsewhere;
    for (const Callee& callee : function.facts->results.results) {
      for (const std::uint32_t target : resolve(function.file, callee)) {
        returned_by[target].push_back(i);
        function.pure &= last_part(functions[target].facts->name) != "__init__";
      }
    }
    if (!function.pure) impure.push_back(i);
  }
  while (!impure.empty()) {
    const std::uint32_t from = impure.back();
    impure.pop_back();
    for (const std::uint32_t function : returned_by[from]) {
      if (!functions[function].pure) continue;
      functions[function].pure = false;
      impure.push_back(function);
    }
  }
}

std::uint32_t Summary::Joined::waits_for_slot(const CallOf& call, const Sources& sources,
                                              std::uint32_t own) {
  if (sources.elsewhere || !are_pure(call.file, sources.results)) return kNever;
  for (const std::uint16_t input : sources.inputs) {
    if (call.caller == kNoFunction) return kNever;
    const FunctionOfProject& caller = functions[call.caller];
    if (input >= caller.facts->parameters.size()) return kNever;
    const std::uint32_t slot = caller.first_slot + input;
    if (from_cpu[slot] == 0 && slot != own) return slot;
  }
  return kFine;
}

std::uint32_t Summary::Joined::waits_for_slot(const FunctionOfProject& function,
                                              std::size_t parameter, const CallOf& call) {
  if (call.call->unknown_arguments) return kNever;
  const std::uint32_t own = function.first_slot + static_cast<std::uint32_t>(parameter);
  const auto& parameters = function.facts->parameters;
  for (const auto& [name, sources] : call.call->keywords) {
    if (name == parameters[parameter]) return waits_for_slot(call, sources, own);
  }
  // Its place among the positional arguments. A call through an object has no self.
  const bool bound = !parameters.empty() && (parameters[0] == "self" || parameters[0] == "cls");
  std::size_t place = 0;
  for (std::size_t i = bound ? 1 : 0; i < parameter; ++i) {
    if (parameters[i].starts_with('*')) return kFine;  // keyword only, and not given
    place += parameters[i] == "/" ? 0 : 1;
  }
  // A default is a constant or None.
  const auto& positional = call.call->positional;
  return place >= positional.size() ? kFine : waits_for_slot(call, positional[place], own);
}

void Summary::Joined::settle() {
  with_cuda.assign(functions.size(), 0);
  from_cpu.assign(slots, 0);
  std::vector<std::uint32_t> open;
  std::vector<std::uint32_t> open_slots;
  std::vector<std::uint32_t> owners(slots);
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    const FunctionOfProject& function = functions[i];
    const bool settled = function.is_settled_by_calls();
    if (settled) open.push_back(i);
    for (std::uint32_t p = 0; p < function.facts->parameters.size(); ++p) {
      owners[function.first_slot + p] = i;
      from_cpu[function.first_slot + p] = function.facts->feeds ? 1 : 0;
      if (settled && !function.facts->feeds) open_slots.push_back(function.first_slot + p);
    }
  }
  settle_all(
      with_cuda, std::move(open), [&](std::uint32_t f) { return functions[f].call_count(); },
      [&](std::uint32_t f, std::size_t at) {
        const CallOf& call = functions[f].call(at);
        if (call.call->guarded || refused.contains(call.call) || call.caller == f) return kFine;
        if (call.caller == kNoFunction) return kNever;
        return with_cuda[call.caller] != 0 ? kFine : call.caller;
      });
  settle_all(
      from_cpu, std::move(open_slots),
      [&](std::uint32_t slot) { return functions[owners[slot]].call_count(); },
      [&](std::uint32_t slot, std::size_t at) {
        const FunctionOfProject& function = functions[owners[slot]];
        return waits_for_slot(function, slot - function.first_slot, function.call(at));
      });
}

}  // namespace torchport::flow
