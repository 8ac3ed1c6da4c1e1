// The members of what an observation saw, for as_json(). Their names are those of the classes in
// python/torchport/_native/observed.py. Tensors are left out, because they are no JSON.
#pragma once

#include <torchport/observe.h>

#include "bindings/as_json.h"

template <>
struct nlohmann::adl_serializer<torchport::CallKind> {
  template <typename Json>
  static void to_json(Json& json, const torchport::CallKind& kind) {
    static constexpr const char* kNames[] = {"computed", "made", "moved", "read"};
    json = kNames[static_cast<std::size_t>(kind)];
  }
};

namespace torchport {

template <typename Visit>
void members(TensorFacts& facts, const Visit& visit) {
  visit("tensor", facts.tensor);
  visit("storage", facts.storage);
  visit("device", facts.device);
  visit("dtype", facts.dtype);
  visit("bytes", facts.bytes);
  visit("sizes", facts.sizes);
}

template <typename Visit>
void members(CallFacts& call, const Visit& visit) {
  visit("call", call.call);
  visit("op", call.op);
  visit("kind", call.kind);
  visit("scope", call.scope);
  visit("place", call.place);
  visit("from_device", call.from);
  visit("to_device", call.to);
}

template <typename Visit>
void members(Participant& participant, const Visit& visit) {
  visit("argument", participant.argument);
  visit("facts", participant.facts);
  visit("story", participant.story);
  visit("root", participant.root);
}

template <typename Visit>
void members(MixedCall& mixed, const Visit& visit) {
  visit("call", mixed.call);
  visit("backward", mixed.backward);
  visit("forward", mixed.forward);
  visit("participants", mixed.participants);
  visit("message", mixed.message);
}

template <typename Visit>
void members(NotFiniteCall& call, const Visit& visit) {
  visit("call", call.call);
  visit("nan", call.nan);
  visit("result", call.result);
  visit("participants", call.participants);
}

template <typename Visit>
void members(Scope& scope, const Visit& visit) {
  visit("module", scope.module);
  visit("place", scope.place);
}

template <typename Visit>
void members(ModuleSum& sum, const Visit& visit) {
  visit("module", sum.module);
  visit("operators", sum.operators);
  visit("with_grad", sum.with_grad);
  visit("with_autocast", sum.with_autocast);
}

template <typename Visit>
void members(ResultSum& sum, const Visit& visit) {
  visit("module", sum.module);
  visit("device", sum.device);
  visit("dtype", sum.dtype);
  visit("count", sum.count);
  visit("bytes", sum.bytes);
}

template <typename Visit>
void members(FlowSum& sum, const Visit& visit) {
  visit("source", sum.from);
  visit("target", sum.to);
  visit("device", sum.device);
  visit("count", sum.count);
  visit("bytes", sum.bytes);
}

template <typename Visit>
void members(TransferSum& sum, const Visit& visit) {
  visit("kind", sum.kind);
  visit("op", sum.op);
  visit("module", sum.module);
  visit("place", sum.place);
  visit("from_device", sum.from);
  visit("to_device", sum.to);
  visit("waits", sum.waits);
  visit("backward", sum.backward);
  visit("count", sum.count);
  visit("bytes", sum.bytes);
}

// One row for each result, because there may be tens of thousands: an object with names takes four
// times as long to write and to read.
inline json::Json rows_of(const std::vector<Result>& results) {
  json::Json rows = json::Json::array();
  for (const Result& result : results) {
    const CallFacts& call = result.call;
    const TensorFacts& facts = result.facts;
    rows.push_back({call.call, call.op, call.kind, call.scope, call.place, call.from, call.to,
                    result.module, facts.tensor, facts.storage, facts.device, facts.dtype,
                    facts.bytes, facts.sizes});
  }
  return rows;
}

template <typename Visit>
void members(Observed& observed, const Visit& visit) {
  visit("operators", observed.operators);
  visit("unrecorded", observed.unrecorded);
  visit("scopes", observed.scopes);
  visit("modules", observed.modules);
  visit("results", observed.results);
  visit("flows", observed.flows);
  visit("transfers", observed.transfers);
  json::Json rows = rows_of(observed.intermediates);
  visit("intermediates", rows);
  visit("mixed", observed.mixed);
  visit("mixed_count", observed.mixed_count);
  visit("nan", observed.nan);
  visit("infinity", observed.infinity);
}

}  // namespace torchport
