// Feeds any messages to the language server: each line of the input is the body of one. Whatever
// they say, the server lives until `exit`, and what it writes is whole messages of JSON.
#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "property.h"
#include "source/server/server.h"

namespace torchport {
namespace {

using fuzz::require;
using nlohmann::json;

std::string message(const char* method, int id) {
  json body{{"jsonrpc", "2.0"}, {"method", method}};
  if (id != 0) {
    body["id"] = id;
    body["params"] = {{"capabilities", json::object()}, {"rootPath", "/p"}};
  }
  return server::framed(body.dump());
}

void check(std::string_view input) {
  std::string stream = message("initialize", 1) + message("initialized", 0);
  // These end it earlier, as they should.
  const bool ends =
      input.find("exit") != std::string_view::npos || input.find("\\u") != std::string_view::npos;
  while (!input.empty()) {
    const auto end = std::min(input.find('\n'), input.size());
    stream += server::framed(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  stream += message("shutdown", 2) + message("exit", 0);

  base::MemoryFileSystem fs;
  fs.add("/p/pyproject.toml", "[tool.torchport]\nexclude = [\"x/\"]\n");
  fs.add("/p/a.py", "import torch\n");
  std::size_t at = 0;
  const auto read = [&](char* into, std::size_t size) {
    const std::size_t count = std::min(size, stream.size() - at);
    std::copy_n(stream.data() + at, count, into);
    at += count;
    return count;
  };
  const auto write = [](std::string_view text) {
    const auto start = text.find("\r\n\r\n");
    require(start != std::string_view::npos && json::accept(text.substr(start + 4)),
            "the server writes whole messages");
    return true;
  };
  const int code = server::serve(fs, read, write, "0");
  require(ends || code == 0, "no message ends the server");
}

}  // namespace
}  // namespace torchport

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  torchport::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
