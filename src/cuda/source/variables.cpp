#include "cuda/source/variables.h"

#include <string>

#include <fmt/format.h>

namespace torchport::cuda {

bool Variables::becomes_static(std::size_t i) {
  if (!scopes_.is_namespace(i)) return false;
  const Declaration declared = scopes_.declaration(i);
  if (declared.begin == done_ || declared.is_member || declared.is_template) return false;
  for (const std::string_view word : {"static", "extern", "inline", "constexpr", "friend",
                                      "__global__", "__forceinline__", "typedef", "using"})
    if (scopes_.has(declared, word)) return false;
  // What the host may call, too, has the linkage that the host's code has.
  if (declared.is_function && scopes_.has(declared, "__host__")) return false;
  done_ = declared.begin;
  return true;
}

void Variables::align_anywhere(std::size_t i) {
  const Declaration declared = scopes_.declaration(i);
  for (std::size_t at = i; at < declared.end; ++at) {
    if (!is(at, "alignas") || !is(at + 1, "(") || !is_closed(at + 1) || at <= aligned_) continue;
    aligned_ = at;
    edits_.replace(tokens_[at].begin, tokens_[at].end, "__attribute__((aligned");
    edits_.insert(tokens_[tokens_[at + 1].partner].end, "))");
  }
}

void Variables::variable(std::size_t i) {
  if (!scopes_.is_namespace(i)) return;
  const Declaration declared = scopes_.declaration(i);
  if (declared.begin == told_ || declared.is_function || declared.is_member ||
      declared.is_template || declared.end == 0)
    return;
  for (const std::string_view word :
       {"extern", "typedef", "using", "constexpr", "struct", "class", "union", "enum", "friend"})
    if (scopes_.has(declared, word)) return;
  std::size_t named = declared.end - 1;
  if (tokens_[named].kind != TokenKind::kName) return;
  std::size_t end = declared.end;
  while (end < tokens_.size() && !is(end, ";")) {
    if (is(end, ",")) return;  // several; those are known when they are used
    end = is_closed(end) ? tokens_[end].partner + 1 : end + 1;
  }
  if (end >= tokens_.size()) return;
  told_ = declared.begin;
  std::string_view memory = "kDevice";
  if (scopes_.has(declared, "__constant__")) memory = "kConstant";
  if (scopes_.has(declared, "__managed__")) memory = "kManaged";
  edits_.insert(tokens_[end].end,
                fmt::format(" static const bool torchport_variable_{0} [[maybe_unused]] = "
                            "{1}add_variable(&reinterpret_cast<const volatile char&>({2}), "
                            "sizeof({2}), \"{2}\", {1}Memory::{3});",
                            named, kPrefix, word(named), memory));
}

void Variables::shared(std::size_t i) {
  align_anywhere(i);
  const Declaration declared = scopes_.declaration(i);
  if (scopes_.has(declared, "extern")) {
    std::size_t end = i;
    while (end < tokens_.size() && !is(end, ";")) ++end;
    if (!scopes_.is_namespace(i) && dynamic_in_function(declared.begin, i, end)) return;
    edits_.replace(tokens_[i].begin, tokens_[i].end, "__thread");
    if (end < tokens_.size())
      edits_.insert(tokens_[end].begin, " __asm__(\"torchport_cuda_dynamic_shared\")");
    return;
  }
  const bool is_static = scopes_.has(declared, "static");
  edits_.replace(tokens_[i].begin, tokens_[i].end,
                 is_static ? "thread_local" : "static thread_local");
  note_shared(i, declared);
}

bool Variables::dynamic_in_function(std::size_t begin, std::size_t i, std::size_t end) {
  std::size_t bracket = i;
  while (bracket < end && !is(bracket, "["))
    bracket = is_closed(bracket) ? tokens_[bracket].partner + 1 : bracket + 1;
  if (bracket >= end || end >= tokens_.size() || tokens_[bracket - 1].kind != TokenKind::kName)
    return false;
  const std::size_t name = bracket - 1;
  for (std::size_t k = begin; k < name; ++k)
    if (is(k, "extern") || k == i) drop(k);
  edits_.insert(tokens_[name].begin, "(&");
  edits_.insert(tokens_[name].end, ")");
  edits_.insert(tokens_[end].begin,
                fmt::format(" = reinterpret_cast<decltype({})>({}torchport_cuda_dynamic_shared)",
                            word(name), kPrefix));
  return true;
}

void Variables::note_shared(std::size_t i, const Declaration& declared) {
  // A type that is defined here has its name behind the braces.
  std::size_t end = declared.end;
  std::size_t name = end - 1;
  if (is(end, "{") && is_closed(end)) name = end = tokens_[end].partner + 1;
  std::string notes;
  const auto note = [&](std::size_t which) {
    if (i < code_.kernel_end)
      notes +=
          fmt::format(" (void)&{0}SharedVariable<torchport_kernel, {1}, sizeof({2})>::counted;",
                      kPrefix, which, word(which));
    if (!options_.check) return;
    if (scopes_.is_namespace(i))
      notes += fmt::format(
          " static const {0}FileShared torchport_shared_{1}(+[]() -> const volatile void* {{ "
          "return "
          "&reinterpret_cast<const volatile char&>({2}); }}, sizeof({2}), \"{2}\", "
          "sizeof(std::remove_all_extents_t<decltype({2})>));",
          kPrefix, which, word(which));
    else
      notes += fmt::format(" {0}note_shared({1}, \"{1}\");", kPrefix, word(which));
  };
  // Those before, of `int a, b[2], c;`.
  for (std::size_t at = name; at > i + 2 && is(at - 1, ",") && is_name(at - 2); at -= 2)
    note(at - 2);
  while (end < tokens_.size() && is_name(name)) {
    while (end < tokens_.size() && !is(end, ";") && !is(end, ","))
      end = is_closed(end) ? tokens_[end].partner + 1 : end + 1;
    note(name);
    if (!is(end, ",")) break;
    for (name = ++end; is(name, "*") || is(name, "&");) ++name;
    end = name + 1;
  }
  if (is(end, ";")) edits_.insert(tokens_[end].end, notes);
}

}  // namespace torchport::cuda
