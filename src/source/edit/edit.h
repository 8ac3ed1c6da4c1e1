// Changes to a file as values: what to replace, how sure we are, and what the
// new text needs elsewhere in the file (an import, the module's device).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace torchport::edit {

// How far a fix may be trusted.
enum class Applicability : std::uint8_t {
  kSafe,     // same behaviour where CUDA is; applied by `fix`
  kUnsafe,   // right in most programs, worth a review; applied with --unsafe-fixes
  kDisplay,  // described, never applied
};

[[nodiscard]] std::string_view applicability_name(Applicability applicability);

// Replaces the bytes of `span` with `text`; an empty span inserts.
struct Edit {
  base::Span span;
  std::string text;

  [[nodiscard]] bool operator==(const Edit&) const = default;
};

// What the edits of a fix rely on. Each is put into the file once, however
// many fixes ask for it.
struct Needs {
  std::vector<std::string> imports;  // whole statements: "import torch", "import torch.nn as nn"
  bool module_device = false;        // the module's one device variable
};

struct Fix {
  Applicability applicability = Applicability::kDisplay;
  std::string title;  // what it does, as an order: "replace `.cuda()` with `.to(device)`"
  std::vector<Edit> edits;
  Needs needs;
};

// The text with all edits applied. They must be sorted and must not overlap;
// two insertions at one offset are applied in their order.
[[nodiscard]] std::string apply_edits(std::string_view text, const std::vector<Edit>& edits);

// Sorts by position, stable. Insertions come before a replacement that starts there.
void sort_edits(std::vector<Edit>& edits);

// Whether two edits touch the same bytes (or insert at the same place).
[[nodiscard]] bool overlap(const Edit& a, const Edit& b);

}  // namespace torchport::edit
