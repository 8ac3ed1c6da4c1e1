// The text of python/torchport/torch_releases.json, as the program was built with it. In a source
// of its own, so that a test can be linked with the text of another table.
#pragma once

#include <string_view>

namespace torchport::releases {

[[nodiscard]] std::string_view table_text();

}  // namespace torchport::releases
