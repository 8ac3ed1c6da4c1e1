#include "runtime/checkpoint/named_devices.h"

#include <cstdint>
#include <string_view>

namespace torchport::checkpoint {

namespace {

constexpr std::uint64_t kMostText = 64ULL << 20U;

// The text up to the next quote.
std::string_view quoted(std::string_view text) {
  return text.substr(0, text.find('"'));
}

// torch.device("cuda:0")
void find_in_code(std::string_view code, std::set<std::string>& found) {
  constexpr std::string_view kCall = "torch.device(\"";
  for (auto at = code.find(kCall); at != std::string_view::npos; at = code.find(kCall, at + 1))
    found.emplace(quoted(code.substr(at + kCall.size())));
}

// "as_device": {"type": "cuda", "index": 0}
void find_in_graph(std::string_view graph, std::set<std::string>& found) {
  constexpr std::string_view kDevice = "\"as_device\": {\"type\": \"";
  constexpr std::string_view kIndex = "\", \"index\": ";
  for (auto at = graph.find(kDevice); at != std::string_view::npos;
       at = graph.find(kDevice, at + 1)) {
    std::string_view rest = graph.substr(at + kDevice.size());
    std::string device(quoted(rest));
    rest.remove_prefix(device.size());
    if (rest.starts_with(kIndex)) {
      rest.remove_prefix(kIndex.size());
      const std::string_view index = rest.substr(0, rest.find_first_not_of("0123456789"));
      if (!index.empty()) device.append(":").append(index);
    }
    found.insert(std::move(device));
  }
}

}  // namespace

std::set<std::string> named_devices(const Archive& archive) {
  std::set<std::string> found;
  for (const Archive::Entry& entry : archive.entries()) {
    const std::string_view name = entry.name;
    const bool is_code = name.find("/code/") != std::string_view::npos && name.ends_with(".py");
    const bool is_graph =
        name.find("/models/") != std::string_view::npos && name.ends_with(".json");
    if (!is_code && !is_graph) continue;
    const auto text = archive.read(entry, kMostText);
    if (!text) continue;
    if (is_code)
      find_in_code(*text, found);
    else
      find_in_graph(*text, found);
  }
  return found;
}

}  // namespace torchport::checkpoint
