// `notebookDocument/didOpen`: a notebook with the texts of its cells.
#include "source/server/method.h"
#include "source/server/notebooks.h"

namespace torchport::server::notebook_did_open {

namespace {

Answer handle(Session& session, const Call& call) {
  const Json& notebook = call.params.at("notebookDocument");
  const auto uri = notebook.at("uri").get<std::string>();
  std::vector<std::string> cells;
  for (const Json& cell : notebook.at("cells")) cells.push_back(cell.at("document"));
  open_cells(session, call.params.at("cellTextDocuments"));
  session.documents.set_notebook(uri, std::move(cells));
  session.check(uri);
  return Json();
}

const MethodRegistration kRegistered{{"notebookDocument/didOpen", Turn::kAtOnce, &handle}};

}  // namespace

}  // namespace torchport::server::notebook_did_open
