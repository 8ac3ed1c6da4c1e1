#include "cuda/source/checked_memory.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace torchport::cuda {

void CheckedMemory::copy(std::size_t i, std::string_view it) {
  if (is_member(i)) return;
  if (i >= code_.device_end && !is_of_toolkit(line_of(text_, tokens_[i].begin).file)) return;
  std::size_t begin = i;
  if (is(i - 1, ":") && is(i - 2, ":")) begin = is(i - 3, "std") ? i - 3 : i - 2;
  if (begin < i && begin >= 2 && is(begin - 1, ":") && is(begin - 2, ":")) begin -= 2;
  const std::string_view name = it.starts_with("__builtin_") ? it.substr(10) : it;
  edits_.replace(tokens_[begin].begin, tokens_[i].end, fmt::format("{}checked_{}", kPrefix, name));
}

void CheckedMemory::on_heap(std::size_t i, std::string_view it) {
  if (is(i - 1, "operator")) return;
  if (it == "new") {
    if (!is(i + 1, "(")) edits_.insert(tokens_[i].end, fmt::format(" ({}KernelHeap())", kPrefix));
    return;
  }
  std::size_t begin = i + 1;
  if (is(begin, "[") && is(begin + 1, "]")) begin += 2;
  std::size_t end = begin;
  while (end < tokens_.size() && !is(end, ";"))
    end = is_closed(end) ? tokens_[end].partner + 1 : end + 1;
  if (end >= tokens_.size() || end == begin) return;
  const std::string what =
      without_lines(text_.substr(tokens_[begin].begin, tokens_[end].begin - tokens_[begin].begin));
  edits_.insert(tokens_[i].begin,
                fmt::format("{{ const volatile void* torchport_gone = {}; ", what));
  edits_.insert(tokens_[end].end, fmt::format(" {}forget_new(torchport_gone); }}", kPrefix));
}

void CheckedMemory::enter_device_function(std::size_t i) {
  const Declaration declared = scopes_.declaration(i);
  if (!declared.is_function || scopes_.has(declared, "__host__")) return;
  std::size_t at = declared.end;
  while (at < tokens_.size() && !is(at, "{") && !is(at, ";"))
    at = is(at, "(") && is_closed(at) ? tokens_[at].partner + 1 : at + 1;
  if (is(at, "{") && is_closed(at))
    code_.device_end = std::max(code_.device_end, std::size_t{tokens_[at].partner});
}

bool CheckedMemory::is_of_toolkit(const std::string& file) const {
  if (file.ends_with("torchport/kernel.h")) return false;  // it has the checked ones
  return std::any_of(options_.toolkit_folders.begin(), options_.toolkit_folders.end(),
                     [&](const std::string& folder) { return file.starts_with(folder); });
}

}  // namespace torchport::cuda
