#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torchport/device.h>

#include "base/bytes.h"
#include "base/text.h"
#include "devices/device_kind.h"
#include "runtime/place/host_words.h"

namespace torchport {

namespace {

// Every device kind in the order of preference, then the CPU.
const std::string& default_order() {
  static const std::string kOrder = devices::kind_names(",") + ",cpu";
  return kOrder;
}

struct DeviceSpec {
  c10::DeviceType kind = c10::DeviceType::CPU;
  bool registered = true;  // false: the kind's backend is not loaded in this process
  bool several = true;
  std::optional<int> index;
  bool most_free = false;
};

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::string not_a_device(std::string_view text) {
  return fmt::format(
      "torchport: \"{}\" is not a device; write a kind ({}, cpu), one device (cuda:1), cuda:free "
      "or auto, and separate several with commas",
      text, devices::kind_names());
}

DeviceSpec parse_spec(std::string_view text) {
  DeviceSpec spec;
  const auto colon = text.find(':');
  const std::string kind(text.substr(0, colon));
  const devices::DeviceKind* known = devices::find_kind(kind);
  if (known != nullptr) spec.several = known->several;
  if (known != nullptr && known->out_of_tree) {
    spec.kind = c10::DeviceType::PrivateUse1;
    spec.registered = c10::get_privateuse1_backend() == kind;
  } else {
    try {
      spec.kind = c10::Device(kind).type();
    } catch (const c10::Error&) {
      throw std::invalid_argument(not_a_device(text));
    }
  }
  if (colon == std::string_view::npos) return spec;
  const std::string_view rest = text.substr(colon + 1);
  spec.most_free = rest == "free";
  spec.index = number_in(rest);
  if (!spec.most_free && !spec.index) throw std::invalid_argument(not_a_device(text));
  return spec;
}

std::vector<std::string> specs_in(std::string_view text) {
  std::vector<std::string> specs;
  for (const std::string_view part : base::split(text, ',')) {
    const std::string_view word = base::trim(part);
    if (word.empty()) throw std::invalid_argument(not_a_device(text));
    if (word == "auto") {
      for (const std::string_view kind : base::split(default_order(), ','))
        specs.emplace_back(kind);
    } else {
      specs.emplace_back(word);
    }
  }
  return specs;
}

std::optional<int> local_rank_of_environment() {
  const char* value = std::getenv("LOCAL_RANK");
  if (value == nullptr || *value == '\0') return std::nullopt;
  const auto rank = number_in(value);
  if (!rank)
    throw std::invalid_argument(
        fmt::format("torchport: LOCAL_RANK=\"{}\" is not the number of a process", value));
  return rank;
}

c10::Device device_of(c10::DeviceType kind, int index) {
  return {kind, static_cast<c10::DeviceIndex>(index)};
}

DeviceChoice most_free(c10::DeviceType kind, int count) {
  int best = 0;
  std::size_t most = 0;
  for (int index = 0; index < count; ++index) {
    const std::size_t memory = free_memory(device_of(kind, index));
    if (memory > most) {
      most = memory;
      best = index;
    }
  }
  const c10::Device device = device_of(kind, best);
  return {device,
          {},
          fmt::format("{} has the most free memory of {}: {}", device.str(), count,
                      base::format_bytes(most, 2)),
          {}};
}

// Returns the choice, or none with the reason in `why_not`.
std::optional<DeviceChoice> try_spec(const DeviceSpec& spec, std::optional<int> rank,
                                     std::string& why_not) {
  if (!spec.registered) {
    why_not = "torch has no backend of this name; import the package that registers it";
    return std::nullopt;
  }
  const int count = device_count(spec.kind, &why_not);
  if (count == 0) return std::nullopt;
  const std::string kind = c10::DeviceTypeName(spec.kind, true);
  if (spec.kind == c10::DeviceType::CPU || spec.kind == c10::DeviceType::Meta)
    return DeviceChoice{c10::Device(spec.kind), {}, kind + " is always there", {}};
  if (spec.most_free) return most_free(spec.kind, count);
  if (spec.index) {
    if (*spec.index >= count) {
      why_not =
          fmt::format("there {} {} {} device{}; the last one is {}:{}", count == 1 ? "is" : "are",
                      count, kind, count == 1 ? "" : "s", kind, count - 1);
      return std::nullopt;
    }
    return DeviceChoice{device_of(spec.kind, *spec.index), {}, "it was named with its number", {}};
  }
  if (rank && spec.several) {
    if (*rank >= count) {
      why_not = fmt::format("this process has local rank {}, but there {} only {} {} device{}",
                            *rank, count == 1 ? "is" : "are", count, kind, count == 1 ? "" : "s");
      return std::nullopt;
    }
    return DeviceChoice{device_of(spec.kind, *rank),
                        {},
                        fmt::format("{}:{} is the device for local rank {}", kind, *rank, *rank),
                        {}};
  }
  return DeviceChoice{
      device_of(spec.kind, 0),
      {},
      fmt::format("{} is available, with {} device{}", kind, count, count == 1 ? "" : "s"),
      {}};
}

std::pair<std::string, std::string> wanted_and_source(const DeviceRequest& request) {
  if (!request.wanted.empty()) return {request.wanted, "argument"};
  const char* variable = std::getenv("TORCHPORT_DEVICE");
  if (variable != nullptr && *variable != '\0') return {variable, "TORCHPORT_DEVICE"};
  if (const auto profile = run_profile({}, request.folder); profile && profile->device)
    return {*profile->device, fmt::format("profile {} of {}", profile->name, profile->file)};
  return {default_order(), "default"};
}

}  // namespace

DeviceChoice choose_device(const DeviceRequest& request) {
  const auto [wanted, source] = wanted_and_source(request);
  const auto rank = request.local_rank ? request.local_rank : local_rank_of_environment();
  std::vector<std::string> refused;
  for (const std::string& text : specs_in(wanted)) {
    std::string why_not;
    if (auto choice = try_spec(parse_spec(text), rank, why_not)) {
      choice->source = source;
      choice->refused = std::move(refused);
      return std::move(*choice);
    }
    refused.push_back(fmt::format("{}: {}", text, why_not));
  }
  const std::string words = host_words();
  throw std::runtime_error(
      fmt::format("torchport: no device for \"{}\" ({})\n  {}\n{}Name a device that exists, or end "
                  "the list with cpu; `torchport doctor` shows this machine.",
                  wanted, source, fmt::join(refused, "\n  "), words.empty() ? "" : words + "\n"));
}

}  // namespace torchport
