#include "host/snapshot.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace torchport::host {

namespace {

using json = nlohmann::ordered_json;

// Each structure names its members once, for both directions.
template <class Visit>
void members(Gpu& gpu, Visit&& visit) {
  visit("vendor", gpu.vendor);
  visit("name", gpu.name);
  visit("bus", gpu.bus);
  visit("id", gpu.id);
  visit("capability", gpu.capability);
  visit("memory", gpu.memory);
  visit("mig", gpu.mig);
  visit("driver", gpu.driver);
}

template <class Visit>
void members(DeviceNode& node, Visit&& visit) {
  visit("path", node.path);
  visit("readable", node.readable);
  visit("group", node.group);
}

template <class Visit>
void members(NvidiaDriver& driver, Visit&& visit) {
  visit("module", driver.module);
  visit("library", driver.library);
  visit("nvml", driver.nvml);
  visit("cuda", driver.cuda);
}

template <class Visit>
void members(Toolkit& toolkit, Visit&& visit) {
  visit("path", toolkit.path);
  visit("version", toolkit.version);
  visit("nvcc", toolkit.nvcc);
  visit("from", toolkit.from);
}

template <class Visit>
void members(Torch& torch, Visit&& visit) {
  visit("root", torch.root);
  visit("python", torch.python);
  visit("version", torch.version);
  visit("cuda", torch.cuda);
  visit("hip", torch.hip);
  visit("xpu", torch.xpu);
  visit("archs", torch.archs);
  visit("cxx11_abi", torch.cxx11_abi);
  visit("fault", torch.fault);
}

template <class Visit>
void members(Facts& facts, Visit&& visit) {
  visit("system", facts.system);
  visit("release", facts.release);
  visit("kernel", facts.kernel);
  visit("machine", facts.machine);
  visit("os_version", facts.os_version);
  visit("wsl", facts.wsl);
  visit("container", facts.container);
  visit("memory_limit", facts.memory_limit);
  visit("environment", facts.environment);
  visit("modules", facts.modules);
  visit("gpus", facts.gpus);
  visit("nodes", facts.nodes);
  visit("nvidia", facts.nvidia);
  visit("rocm", facts.rocm);
  visit("level_zero", facts.level_zero);
  visit("toolkits", facts.toolkits);
  visit("torches", facts.torches);
}

template <class T>
concept Structure = requires(T& value) { members(value, [](const char*, auto&) {}); };

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};

template <class T>
json written(T& value) {
  if constexpr (Structure<T>) {
    json object = json::object();
    members(value, [&](const char* name, auto& member) { object[name] = written(member); });
    return object;
  } else if constexpr (IsList<T>::value) {
    json list = json::array();
    for (auto& item : value) list.push_back(written(item));
    return list;
  } else {
    return value;
  }
}

// The first member that is of another type, by its path; empty where all are right.
template <class T>
std::string read(const json& source, T& value, const std::string& path) {
  if constexpr (Structure<T>) {
    if (!source.is_object()) return path;
    std::string wrong;
    members(value, [&](const char* name, auto& member) {
      const auto found = source.find(name);
      if (wrong.empty() && found != source.end())
        wrong = read(*found, member, path.empty() ? name : path + "." + name);
    });
    return wrong;
  } else if constexpr (IsList<T>::value) {
    if (!source.is_array()) return path;
    for (const json& item : source) {
      const std::string place = fmt::format("{}[{}]", path, value.size());
      const std::string wrong = read(item, value.emplace_back(), place);
      if (!wrong.empty()) return wrong;
    }
    return {};
  } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
    if (!source.is_object()) return path;
    for (const auto& [name, item] : source.items()) {
      if (!item.is_string()) return path + "." + name;
      value[name] = item.template get<std::string>();
    }
    return {};
  } else {
    const bool fits =
        std::is_same_v<T, std::string>
            ? source.is_string()
            : (std::is_same_v<T, bool> ? source.is_boolean() : source.is_number_unsigned());
    if (!fits) return path;
    value = source.get<T>();
    return {};
  }
}

}  // namespace

std::string to_json(const Facts& facts) {
  Facts copy = facts;
  return written(copy).dump(2, ' ', false, json::error_handler_t::replace);
}

base::Result<Facts> from_json(std::string_view text) {
  const json source = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!source.is_object())
    return base::fail(base::ErrorCode::kSyntax, "is no JSON object of a host");
  // What `doctor --json` writes has the facts beside its verdict.
  const auto inner = source.find("facts");
  Facts facts;
  const std::string wrong = read(inner == source.end() ? source : *inner, facts, {});
  if (!wrong.empty())
    return base::fail(base::ErrorCode::kSyntax,
                      fmt::format("\"{}\" is of another type than it has to be", wrong));
  return facts;
}

}  // namespace torchport::host
