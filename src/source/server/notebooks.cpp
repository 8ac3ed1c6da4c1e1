#include "source/server/notebooks.h"

namespace torchport::server {

void open_cells(Session& session, const Json& items) {
  for (const Json& item : items)
    session.documents.open(
        item.at("uri").get<std::string>(), item.value("languageId", std::string()),
        item.value("version", std::int64_t{0}), item.at("text").get<std::string>());
}

}  // namespace torchport::server
