// `textDocument/diagnostic`: the client asks for diagnostics instead of getting them pushed.
#include "source/server/diagnostics.h"
#include "source/server/method.h"

namespace torchport::server::diagnostic {

namespace {

Answer handle(Session& session, const Call& call) {
  Json items = Json::array();
  if (call.source) {
    const auto analysis = session.analysis_of(*call.source, call.stop);
    if (!analysis) return tl::unexpected<Failure>({RpcError::kCancelled, "cancelled"});
    const auto uri = call.params.at("textDocument").at("uri").get<std::string>();
    if (const auto part = analysis->part_named(uri))
      items = diagnostics_json(*analysis, session.abilities.encoding)[*part];
  }
  return Json{{"kind", "full"}, {"items", std::move(items)}};
}

const MethodRegistration kRegistered{{"textDocument/diagnostic", Turn::kQueued, &handle}};

}  // namespace

}  // namespace torchport::server::diagnostic
