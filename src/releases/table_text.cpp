#include "releases/table_text.h"

namespace torchport::releases {

std::string_view table_text() {
  return
#include "torch_releases.inc"
      ;
}

}  // namespace torchport::releases
