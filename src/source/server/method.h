// Registers the methods of the protocol. A method is one file in methods/ that registers itself; no
// list names them.
#pragma once

#include <optional>
#include <string_view>

#include "source/server/session.h"

namespace torchport::server {

struct Call {
  const Json& params;
  // What params.textDocument named when the call arrived; none if it is not open.
  std::optional<Source> source;
  const Job::Stop& stop;  // set when nobody waits for the answer any more
};

enum class Turn : std::uint8_t {
  kAtOnce,  // on the reader's thread, in the order of arrival: what changes documents
  kQueued,  // on the worker's thread, in the order of arrival
};

struct Method {
  std::string_view name;
  Turn turn = Turn::kQueued;
  // The result of a request; what a notification returns is ignored. Params that are not as the
  // protocol says may throw nlohmann::json::exception, which becomes kInvalidParams.
  Answer (*handle)(Session& session, const Call& call) = nullptr;
};

struct MethodRegistration {
  explicit MethodRegistration(Method method);
};

// The method with this name; null if there is none.
[[nodiscard]] const Method* find_method(std::string_view name);

}  // namespace torchport::server
