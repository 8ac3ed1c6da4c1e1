// `textDocument/hover`: the device of the variable under the cursor, and the page of a rule on its
// finding.
#include <fmt/format.h>

#include "source/project/diagnostic.h"
#include "source/rules/registry.h"
#include "source/server/device_fact.h"
#include "source/server/method.h"

namespace torchport::server::hover {

namespace {

std::string place_in_words(const DeviceFact& fact) {
  using semantics::DeviceState;
  switch (fact.state) {
    case DeviceState::kCpu:
      return "on **cpu**";
    case DeviceState::kCuda:
      return "on **cuda**";
    case DeviceState::kFollows:
      return fact.follows
                 ? fmt::format("on the device that `{}` says", shortened_text(fact.follows))
                 : std::string("on the device that the caller or the machine decides");
    default:
      return "on a device that is not known";
  }
}

std::string in_words(const Analysis& analysis, std::size_t part, const DeviceFact& fact) {
  std::string text = fmt::format("`{}`: {} {}", shortened_text(fact.subject),
                                 type_in_words(fact.type), place_in_words(fact));
  if (fact.result)
    return text + fmt::format("  \nfrom {}:{}", fact.result->path, fact.result->line);
  if (!fact.made) return text;
  const PartSpan made = analysis.place(fact.made.span());
  const std::uint32_t line = analysis.lines(made.part).at(made.span.start).line;
  return text + fmt::format("  \nfrom line {}{}: `{}`", line,
                            made.part == part ? "" : " of another cell", shortened_text(fact.made));
}

Answer handle(Session& session, const Call& call) {
  const Position position = read_position(call.params.at("position"));
  const auto uri = call.params.at("textDocument").at("uri").get<std::string>();
  if (!call.source) return Json();
  const auto analysis = session.analysis_of(*call.source, call.stop);
  if (!analysis) return tl::unexpected<Failure>({RpcError::kCancelled, "cancelled"});
  const auto part = analysis->part_named(uri);
  if (!part || analysis->examined() == nullptr) return Json();
  const Encoding encoding = session.abilities.encoding;
  const std::uint32_t offset = offset_at(analysis->lines(*part), position, encoding);
  std::string text;
  base::Span span{offset, offset};
  if (const auto code = analysis->code_offset(*part, offset);
      const auto question = analysis->device_question()) {
    if (const auto fact = code ? device_fact_at(*question, *code) : std::nullopt) {
      text = in_words(*analysis, *part, *fact);
      span = analysis->place(fact->subject.span()).span;
    }
  }
  for (const rules::Finding& finding : analysis->examined()->findings) {
    const PartSpan place = analysis->place(finding.span);
    if (place.part != *part || offset < place.span.start || offset > place.span.end) continue;
    if (text.empty()) span = place.span;
    text += (text.empty() ? "" : "\n\n---\n\n") + project::explanation(*finding.rule);
  }
  if (text.empty()) return Json();
  return Json{{"contents", {{"kind", "markdown"}, {"value", std::move(text)}}},
              {"range", range_json(analysis->lines(*part), span, encoding)}};
}

const MethodRegistration kRegistered{{"textDocument/hover", Turn::kQueued, &handle}};

}  // namespace

}  // namespace torchport::server::hover
