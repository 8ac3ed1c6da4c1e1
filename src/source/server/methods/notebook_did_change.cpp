// `notebookDocument/didChange`: cells come, go and change.
#include <algorithm>

#include "source/server/method.h"
#include "source/server/notebooks.h"

namespace torchport::server::notebook_did_change {

namespace {

std::vector<std::string> spliced(std::vector<std::string> cells, const Json& array) {
  const std::size_t start = std::min(array.at("start").get<std::size_t>(), cells.size());
  const std::size_t count =
      std::min(array.at("deleteCount").get<std::size_t>(), cells.size() - start);
  const auto at = cells.begin() + static_cast<std::ptrdiff_t>(start);
  auto next = cells.erase(at, at + static_cast<std::ptrdiff_t>(count));
  if (array.contains("cells") && array["cells"].is_array())
    for (const Json& cell : array["cells"])
      next = cells.insert(next, cell.at("document").get<std::string>()) + 1;
  return cells;
}

Answer handle(Session& session, const Call& call) {
  const auto uri = call.params.at("notebookDocument").at("uri").get<std::string>();
  const Json cells = call.params.at("change").value("cells", Json());
  if (!cells.is_object()) return Json();  // its metadata changed
  if (cells.contains("structure")) {
    const Json& structure = cells["structure"];
    if (structure.contains("didOpen")) open_cells(session, structure["didOpen"]);
    session.documents.set_notebook(
        uri, spliced(session.documents.notebook_cells(uri), structure.at("array")));
    if (structure.contains("didClose"))
      for (const Json& closed : structure["didClose"])
        session.documents.close(closed.at("uri").get<std::string>());
  }
  if (cells.contains("textContent")) {
    for (const Json& content : cells["textContent"]) {
      const Json& document = content.at("document");
      session.documents.change(document.at("uri").get<std::string>(),
                               document.at("version").get<std::int64_t>(),
                               read_changes(content.at("changes")), session.abilities.encoding);
    }
  }
  session.check(uri);
  return Json();
}

const MethodRegistration kRegistered{{"notebookDocument/didChange", Turn::kAtOnce, &handle}};

}  // namespace

}  // namespace torchport::server::notebook_did_change
