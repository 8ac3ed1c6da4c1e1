#include "source/server/json_rpc.h"

#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "source/server/framing.h"

namespace torchport::server {

namespace {

constexpr int kMaxNesting = 200;

bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxNesting) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

// The code unit of an escape \uXXXX at this place.
std::optional<unsigned> code_unit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  unsigned value = 0;
  for (std::size_t i = at + 2; i < at + 6; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (std::isxdigit(c) == 0) return std::nullopt;
    value = value * 16 + (c <= '9' ? c - unsigned{'0'} : (c | 0x20U) - 'a' + 10U);
  }
  return value;
}

bool is_high(unsigned unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}

bool is_low(unsigned unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

void replace_lone_surrogates(std::string& body) {
  for (std::size_t i = 0; i + 1 < body.size(); ++i) {
    if (body[i] != '\\') continue;
    const auto unit = code_unit(body, i);
    if (!unit) {
      ++i;  // the escaped character
      continue;
    }
    const auto next = code_unit(body, i + 6);
    if (is_high(*unit) && next && is_low(*next)) {
      i += 11;
      continue;
    }
    if (is_high(*unit) || is_low(*unit)) body.replace(i, 6, "\\ufffd");
    i += 5;
  }
}

}  // namespace

Answer parse_message(std::string body) {
  if (nests_too_deep(body))
    return tl::unexpected<Failure>({RpcError::kParse, "the message is nested too deeply"});
  Json message = Json::parse(body, nullptr, false);
  if (message.is_discarded()) {
    replace_lone_surrogates(body);
    message = Json::parse(body, nullptr, false);
  }
  if (message.is_discarded())
    return tl::unexpected<Failure>({RpcError::kParse, "the message is not valid JSON"});
  return message;
}

void Outgoing::send(const Json& message) {
  // A file's text can have bytes that are not UTF-8.
  const std::string text = framed(message.dump(-1, ' ', false, Json::error_handler_t::replace));
  const std::lock_guard lock(mutex_);
  if (!broken_ && !write_(text)) broken_ = true;
}

void Outgoing::respond(const Json& id, const Answer& answer) {
  Json message{{"jsonrpc", "2.0"}, {"id", id}};
  if (answer) {
    message["result"] = *answer;
  } else {
    message["error"] = {{"code", static_cast<int>(answer.error().code)},
                        {"message", answer.error().message}};
  }
  send(message);
}

void Outgoing::notify(std::string_view method, Json params) {
  send({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
}

void Outgoing::request(std::string_view method, Json params, Reply reply) {
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    id = fmt::format("torchport-{}", ++requests_);
    waiting_[id] = std::move(reply);
  }
  send({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}});
}

void Outgoing::replied(const Json& response) {
  Reply reply;
  {
    const std::lock_guard lock(mutex_);
    const auto id = response.find("id");
    if (id == response.end() || !id->is_string()) return;
    const auto found = waiting_.find(id->get<std::string>());
    if (found == waiting_.end()) return;
    reply = std::move(found->second);
    waiting_.erase(found);
  }
  const auto result = response.find("result");
  if (reply) reply(result == response.end() ? Json() : *result);
}

}  // namespace torchport::server
