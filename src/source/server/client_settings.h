// Holds the settings that an editor sends (docs/editor.md). They decide what the editor shows; what
// is a finding is decided by the project's own settings, as for `torchport check`.
#pragma once

#include <string>
#include <vector>

#include "source/server/json_rpc.h"

namespace torchport::server {

enum class InlayHints : std::uint8_t { kOff, kCuda, kAll };

struct ClientSettings {
  bool unsafe_fixes = true;                   // "unsafeFixes": offer quick fixes to be reviewed
  InlayHints inlay_hints = InlayHints::kOff;  // "inlayHints": "off", "cuda", "all"
  bool whole_project = false;       // "wholeProject": also check the files that are not open
  std::string configuration;        // "configuration": a settings file for all folders
  std::vector<std::string> select;  // "select": instead of the project's
  std::vector<std::string> ignore;  // "ignore": besides the project's
};

struct ReadSettings {
  ClientSettings settings;
  std::vector<std::string> complaints;  // what could not be used, in words for the user
};

// Reads the settings from the object itself, or from its member "torchport". Null has no settings.
[[nodiscard]] ReadSettings read_settings(const Json& json);

}  // namespace torchport::server
