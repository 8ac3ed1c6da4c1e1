// The text of python/torchport/torch_releases.json that the program was built with. It is in its
// own source file, so that a test can link with the text of another table.
#pragma once

#include <string_view>

namespace torchport::releases {

[[nodiscard]] std::string_view table_text();

}  // namespace torchport::releases
