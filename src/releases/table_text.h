// Declares the text of python/torchport/torch_releases.json that the program was built with. The
// text has a source file of its own, so that a test can link another table.
#pragma once

#include <string_view>

namespace torchport::releases {

[[nodiscard]] std::string_view table_text();

}  // namespace torchport::releases
