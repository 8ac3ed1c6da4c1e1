// Links calls to the functions that they may be of.
#include <algorithm>

#include "source/flow/joined.h"

namespace torchport::flow {

namespace {

// A call that may be of more functions says nothing about any of them.
constexpr std::size_t kMostTargets = 16;

// Methods that are called by other means than their name.
bool is_called_by_name(std::string_view method) {
  return method == "__init__" || (method != "forward" && !method.starts_with("__"));
}

}  // namespace

std::string_view last_part(std::string_view name) {
  const auto at = name.find_last_of(".=@");
  return at == std::string_view::npos ? name : name.substr(at + 1);
}

void Summary::Joined::link() {
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const FileFacts& facts = files[file].facts;
    for (const Call& call : facts.calls) {
      std::uint32_t caller = kNoFunction;
      if (call.caller < facts.functions.size())
        caller = first_function[file] + facts.functions[call.caller].same_as;
      link_call({file, caller, &call});
    }
  }
  calls.build(functions.size());
  calls_by_method.build(method_numbers.size());
  for (std::uint32_t number = 0; number < functions.size(); ++number) {
    FunctionOfProject& function = functions[number];
    if (function.method == kNoMethod || methods[function.method].size() != 1) continue;
    const auto of_method = calls_by_method[function.method];
    function.evidence |= std::any_of(of_method.begin(), of_method.end(),
                                     [&](const CallOf& call) { return call.caller != number; });
  }
}

void Summary::Joined::link_call(const CallOf& call) {
  const Meaning meaning = meaning_of(call.file, call.call->callee);
  if (meaning.count == Meaning::kMethod) {
    calls_by_method.add(meaning.first, call);
    return;
  }
  const auto meant = std::span<const std::uint32_t>(targets).subspan(meaning.first, meaning.count);
  for (const std::uint32_t target : meant) {
    if (meant.size() > kMostTargets)
      functions[target].ambiguous = true;
    else
      calls.add(target, call);
    // That a function calls itself says nothing about who does otherwise.
    functions[target].evidence |= meant.size() == 1 && call.caller != target;
  }
  link_overrides(call, meant);
}

// A call of an object's own method may be one of a class that derives from its class.
void Summary::Joined::link_overrides(const CallOf& call, std::span<const std::uint32_t> meant) {
  const std::string_view callee = files[call.file].facts.text(call.call->callee);
  if (callee.front() != '=') return;
  const std::string_view name = callee.substr(1);
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return;
  const auto found = overrides.find({last_part(name.substr(0, dot)), name.substr(dot + 1)});
  if (found == overrides.end() || given_up.contains(&found->second)) return;
  const bool many = found->second.size() > kMostTargets;
  if (many) given_up.insert(&found->second);
  for (const std::uint32_t other : found->second) {
    if (many) {
      functions[other].ambiguous = true;
    } else if (std::find(meant.begin(), meant.end(), other) == meant.end()) {
      calls.add(other, call);
      functions[other].evidence |= call.caller != other;
    }
  }
}

std::size_t Summary::Joined::call_count(std::uint32_t function) const {
  const std::uint32_t method = functions[function].method;
  return calls[function].size() + (method == kNoMethod ? 0 : calls_by_method[method].size());
}

const CallOf& Summary::Joined::call(std::uint32_t function, std::size_t index) const {
  const auto own = calls[function];
  if (index < own.size()) return own[index];
  return calls_by_method[functions[function].method][index - own.size()];
}

bool Summary::Joined::is_settled_by_calls(const FunctionOfProject& function) const {
  return function.evidence && !function.ambiguous && !function.doubted &&
         is_called_by_name(last_part(name_of(function)));
}

}  // namespace torchport::flow
