#include "source/server/framing.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

namespace torchport {
namespace {

using server::framed;
using server::MessageReader;

// A reader of these bytes, `step` at a time.
MessageReader reader_of(std::string bytes, std::size_t step = 7) {
  return MessageReader(
      [bytes = std::move(bytes), at = std::size_t{0}, step](char* into, std::size_t size) mutable {
        const std::size_t count = std::min({step, size, bytes.size() - at});
        std::copy_n(bytes.data() + at, count, into);
        at += count;
        return count;
      });
}

// What comes out until the end: bodies, and "!" for an error.
std::vector<std::string> all_of(MessageReader reader) {
  std::vector<std::string> found;
  while (true) {
    const auto next = reader.next();
    if (!next) {
      found.emplace_back("!");
    } else if (!*next) {
      return found;
    } else {
      found.push_back(**next);
    }
  }
}

using Bodies = std::vector<std::string>;

TEST_CASE("messages are cut by their length, however the bytes arrive") {
  const std::string stream = framed("{}") + framed("") + framed("a\r\n\r\nb");
  for (const std::size_t step : {1, 2, 3, 5, 17, 1000})
    CHECK(all_of(reader_of(stream, step)) == Bodies{"{}", "", "a\r\n\r\nb"});
}

TEST_CASE("headers may be in any case and order, and end with LF alone") {
  CHECK(all_of(reader_of("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
                         "content-length:  3 \r\n\r\nabc")) == Bodies{"abc"});
  CHECK(all_of(reader_of("CONTENT-LENGTH: 3\n\nabc")) == Bodies{"abc"});
}

TEST_CASE("bad headers are an error, and what comes after them is read") {
  for (const char* bad :
       {"Nonsense\r\n\r\n", "Content-Length: -1\r\n\r\n", "Content-Length: 12x\r\n\r\n",
        "Content-Length:\r\n\r\n", "Content-Length: 99999999999999999999999\r\n\r\n",
        "Content-Length: 18446744073709551615\r\n\r\n",
        "Content-Length: 3\r\nContent-Length: x\r\n\r\n"})
    CHECK(all_of(reader_of(bad + framed("{}"))) == Bodies{"!", "{}"});
}

TEST_CASE("a header without an end takes a bounded amount of memory and no message") {
  CHECK(all_of(reader_of(std::string(1 << 20, 'a'), 4096)).empty());
  CHECK(all_of(reader_of(std::string(1 << 20, 'a') + "\r\n\r\n" + framed("{}"), 4096)) ==
        Bodies{"!", "{}"});
}

TEST_CASE("a message that is too long is dropped, and the next one is read") {
  std::size_t left = server::kMaxMessage + 1;
  std::string head = "Content-Length: " + std::to_string(left) + "\r\n\r\n";
  std::string tail = framed("{}");
  MessageReader reader([&](char* into, std::size_t size) -> std::size_t {
    std::string* text = !head.empty() ? &head : left == 0 ? &tail : nullptr;
    const std::size_t count = std::min(size, text != nullptr ? text->size() : left);
    if (text != nullptr) {
      std::copy_n(text->data(), count, into);
      text->erase(0, count);
    } else {
      std::fill_n(into, count, 'x');
      left -= count;
    }
    return count;
  });
  const auto first = reader.next();
  REQUIRE_FALSE(first.has_value());
  CHECK(first.error().code == base::ErrorCode::kBudget);
  CHECK(reader.next().value() == "{}");
}

TEST_CASE("a stream that ends in a message has no such message") {
  CHECK(all_of(reader_of("")).empty());
  CHECK(all_of(reader_of("Content-Length: 10\r\n\r\n{}")).empty());
  CHECK(all_of(reader_of("Content-Len")).empty());
}

}  // namespace
}  // namespace torchport
