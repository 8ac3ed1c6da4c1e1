// `initialize`: what the client can do, its folders and its settings; what the server can do.
#include <algorithm>

#include "source/server/client_settings.h"
#include "source/server/method.h"
#include "source/server/uri.h"

namespace torchport::server::initialize {

namespace {

// The value at a path of names; null if it is not there.
const Json& member(const Json& json, std::initializer_list<const char*> names) {
  static const Json kNull;
  const Json* at = &json;
  for (const char* name : names) {
    if (!at->is_object() || !at->contains(name)) return kNull;
    at = &(*at)[name];
  }
  return *at;
}

bool can(const Json& capabilities, std::initializer_list<const char*> names) {
  return member(capabilities, names) == true;
}

bool lists(const Json& list, std::string_view word) {
  return list.is_array() && std::find(list.begin(), list.end(), word) != list.end();
}

Abilities read_abilities(const Json& client) {
  Abilities result;
  if (lists(member(client, {"general", "positionEncodings"}), "utf-8"))
    result.encoding = Encoding::kUtf8;
  // A change in one cell of a notebook changes what is found in others, and a client that pulls
  // asks for the changed cell alone. So a client that takes both gets them pushed.
  result.pulls_diagnostics = member(client, {"textDocument", "diagnostic"}).is_object() &&
                             !member(client, {"textDocument", "publishDiagnostics"}).is_object();
  result.refreshes_diagnostics = can(client, {"workspace", "diagnostics", "refreshSupport"});
  result.refreshes_hints = can(client, {"workspace", "inlayHint", "refreshSupport"});
  result.document_changes = can(client, {"workspace", "workspaceEdit", "documentChanges"});
  result.resolves_edits =
      can(client, {"textDocument", "codeAction", "dataSupport"}) &&
      lists(member(client, {"textDocument", "codeAction", "resolveSupport", "properties"}), "edit");
  result.watches_files = can(client, {"workspace", "didChangeWatchedFiles", "dynamicRegistration"});
  result.configuration = can(client, {"workspace", "configuration"});
  result.progress = can(client, {"window", "workDoneProgress"});
  return result;
}

std::vector<std::string> read_folders(const Json& params) {
  std::vector<std::string> folders;
  const auto add = [&](const Json& uri) {
    if (!uri.is_string()) return;
    if (auto path = path_of_uri(uri.get<std::string>())) folders.push_back(std::move(*path));
  };
  if (const Json& list = member(params, {"workspaceFolders"}); list.is_array())
    for (const Json& folder : list) add(member(folder, {"uri"}));
  if (folders.empty()) add(member(params, {"rootUri"}));
  if (const Json& path = member(params, {"rootPath"}); folders.empty() && path.is_string())
    folders.push_back(path.get<std::string>());
  return folders;
}

Json server_capabilities(const Abilities& abilities) {
  constexpr int kIncremental = 2;
  Json result{
      {"positionEncoding", abilities.encoding == Encoding::kUtf8 ? "utf-8" : "utf-16"},
      {"textDocumentSync", {{"openClose", true}, {"change", kIncremental}, {"save", true}}},
      {"notebookDocumentSync",
       {{"notebookSelector", Json::array({{{"notebook", "jupyter-notebook"},
                                           {"cells", Json::array({{{"language", "python"}}})}}})}}},
      {"codeActionProvider",
       {{"codeActionKinds", {"quickfix", "source.fixAll.torchport"}}, {"resolveProvider", true}}},
      {"hoverProvider", true},
      {"inlayHintProvider", true},
      {"workspace", {{"workspaceFolders", {{"supported", true}, {"changeNotifications", true}}}}}};
  if (abilities.pulls_diagnostics)
    result["diagnosticProvider"] = {{"identifier", "torchport"},
                                    {"interFileDependencies", false},
                                    {"workspaceDiagnostics", false}};
  return result;
}

Answer handle(Session& session, const Call& call) {
  session.abilities = read_abilities(member(call.params, {"capabilities"}));
  session.jobs.add({{},
                    [&session, folders = read_folders(call.params),
                     settings = read_settings(member(call.params, {"initializationOptions"}))](
                        const Job::Stop&) {
                      for (const std::string& folder : folders)
                        session.workspace.add_folder(folder);
                      session.workspace.set_client_settings(settings.settings);
                      session.show_complaints(settings.complaints);
                    },
                    {}});
  return Json{{"capabilities", server_capabilities(session.abilities)},
              {"serverInfo", {{"name", "torchport"}, {"version", session.version}}}};
}

const MethodRegistration kRegistered{{"initialize", Turn::kAtOnce, &handle}};

}  // namespace

}  // namespace torchport::server::initialize
