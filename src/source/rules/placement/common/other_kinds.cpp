#include "source/rules/placement/common/other_kinds.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "devices/device_kind.h"

namespace torchport::rules {

namespace {

bool has_word(std::string_view text, std::string_view word) {
  const auto is_letter = [](char c) { return base::is_identifier_char(c) && c != '_'; };
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end])))
      return true;
  }
  return false;
}

}  // namespace

bool names_other_kinds(std::string_view text) {
  // Words for devices that are no kinds here. A word stays when it becomes a kind.
  static constexpr auto kOthers = std::to_array<std::string_view>(
      {"hpu", "xla", "tpu", "ipu", "directml", "accelerator", "mlu", "musa"});
  const std::string lower = base::lower(text);
  const auto& kinds = devices::kinds();
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const devices::DeviceKind& kind) {
                       return kind.name != "cuda" && has_word(lower, kind.name);
                     }) ||
         std::any_of(kOthers.begin(), kOthers.end(),
                     [&](std::string_view other) { return has_word(lower, other); });
}

}  // namespace torchport::rules
