// `textDocument/inlayHint`: the device of assigned names, beside them: `x: cuda | from line 12`.
#include <fmt/format.h>

#include "source/server/device_fact.h"
#include "source/server/method.h"

namespace torchport::server::inlay_hint {

namespace {

std::string label(const Analysis& analysis, const PartSpan& place, const DeviceFact& fact) {
  std::string text = fact.state == semantics::DeviceState::kCuda
                         ? ": cuda"
                         : fmt::format(": {}", shortened_text(fact.follows));
  if (fact.result)
    return text +
           fmt::format(" | from {}:{}", base::file_name(fact.result->path), fact.result->line);
  if (!fact.made) return text;
  const PartSpan made = analysis.place(fact.made.span());
  const std::uint32_t line = analysis.lines(made.part).at(made.span.start).line;
  if (made.part != place.part) return text + " | from another cell";
  // What stands in the same line needs no words.
  if (line == analysis.lines(place.part).at(place.span.start).line) return text;
  return text + fmt::format(" | from line {}", line);
}

Answer handle(Session& session, const Call& call) {
  Json hints = Json::array();
  const Json& range = call.params.at("range");
  const Position first = read_position(range.at("start"));
  const Position last = read_position(range.at("end"));
  const auto uri = call.params.at("textDocument").at("uri").get<std::string>();
  const InlayHints wanted = session.workspace.client_settings().inlay_hints;
  if (!call.source || wanted == InlayHints::kOff) return hints;
  const auto analysis = session.analysis_of(*call.source, call.stop);
  if (!analysis) return tl::unexpected<Failure>({RpcError::kCancelled, "cancelled"});
  const auto part = analysis->part_named(uri);
  const auto question = analysis->device_question();
  if (!part || !question) return hints;
  const Encoding encoding = session.abilities.encoding;
  const base::LineIndex& lines = analysis->lines(*part);
  const auto from = analysis->code_offset(*part, offset_at(lines, first, encoding));
  const auto to = analysis->code_offset(*part, offset_at(lines, last, encoding));
  if (!from || !to) return hints;
  for (const DeviceFact& fact : assigned_facts(*question, {*from, *to})) {
    if (wanted == InlayHints::kCuda && fact.state != semantics::DeviceState::kCuda) continue;
    const PartSpan place = analysis->place(fact.subject.span());
    if (place.part != *part) continue;
    const Json at = range_json(lines, place.span, encoding).at("end");
    hints.push_back({{"position", at}, {"label", label(*analysis, place, fact)}, {"kind", 1}});
  }
  return hints;
}

const MethodRegistration kRegistered{{"textDocument/inlayHint", Turn::kQueued, &handle}};

}  // namespace

}  // namespace torchport::server::inlay_hint
