// Describes changes to a file as values: which bytes to replace, how much the change can be
// trusted, and what the new text needs elsewhere in the file (an import, the module's device).
// Because changes are values, a rule never writes, and the same fix can be shown, applied, refused
// or tested.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace torchport::edit {

// How much a fix can be trusted.
enum class Applicability : std::uint8_t {
  kSafe,     // same behaviour with CUDA; applied by `fix`
  kUnsafe,   // right in most programs, to be reviewed; applied with --unsafe-fixes
  kDisplay,  // described, never applied
};

[[nodiscard]] std::string_view applicability_name(Applicability applicability);

// Replaces the bytes of `span` with `text`; an empty span inserts.
struct Edit {
  base::Span span;
  std::string text;

  [[nodiscard]] bool operator==(const Edit&) const = default;
};

// What the edits of a fix rely on. Each is inserted into the file once, however many fixes need it.
struct Needs {
  std::vector<std::string> imports;  // whole statements: "import torch", "import torch.nn as nn"
  bool module_device = false;        // the module's one device variable
};

struct Fix {
  Applicability applicability = Applicability::kDisplay;
  std::string title;  // what it does, in the imperative
  std::vector<Edit> edits;
  Needs needs;
  // It is right only when nothing else in the file stops the program without CUDA.
  bool comes_last = false;
};

// Whether a tool reads the comment at its line, as `# noqa` and `# type: ignore`: it cannot move,
// and its line cannot be broken.
[[nodiscard]] bool is_read_by_tools(std::string_view comment);

// Applies all edits to the text. REQUIRED: they are sorted and do not overlap. Two insertions at
// one offset are applied in their order.
[[nodiscard]] std::string apply_edits(std::string_view text, const std::vector<Edit>& edits);

// Sorts by position, stably. Insertions come before a replacement that starts at the same offset.
void sort_edits(std::vector<Edit>& edits);

// Whether two edits touch the same bytes (or insert at the same place).
[[nodiscard]] bool overlap(const Edit& a, const Edit& b);

}  // namespace torchport::edit
