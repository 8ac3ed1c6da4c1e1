#include <stdexcept>

#include <nlohmann/json.hpp>
#include <torchport/session.h>

#include "runtime/checkpoint/formats.h"
#include "runtime/deploy/contract_file.h"
#include "runtime/deploy/engines/engine.h"

namespace torchport {

namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

// Reads a value that may be missing or null.
template <class T>
T value_or(const Json& object, const char* key, T fallback) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::move(fallback) : found->get<T>();
}

TensorSpec tensor_of(const Json& entry) {
  TensorSpec spec;
  spec.name = entry.at("name").get<std::string>();
  const auto dtype = entry.at("dtype").get<std::string>();
  const auto known = dtype_named(dtype);
  if (!known) throw std::runtime_error("its " + spec.name + " is of unknown dtype " + dtype);
  spec.dtype = *known;
  for (const Json& size : entry.at("shape")) {
    if (size.is_number_integer())
      spec.shape.push_back({size.get<std::int64_t>(), {}});
    else
      spec.shape.push_back({-1, size.get<std::string>()});
  }
  return spec;
}

HostNeeds host_of(const Json& host) {
  return {.device = value_or<std::string>(host, "device", ""),
          .system = value_or<std::string>(host, "system", ""),
          .machine = value_or<std::string>(host, "machine", ""),
          .instructions = value_or<std::vector<std::string>>(host, "instructions", {}),
          .torch = value_or<std::string>(host, "torch", ""),
          .cuda = value_or<std::string>(host, "cuda", ""),
          .capability = value_or<std::string>(host, "capability", ""),
          .python = value_or<std::string>(host, "python", "")};
}

Contract contract_of(const std::string& text) {
  const Json json = Json::parse(text);
  if (const int version = json.at("contract").get<int>(); version > kVersion) {
    throw std::runtime_error("its contract is of version " + std::to_string(version) +
                             ", but this torchport reads only up to version " +
                             std::to_string(kVersion) + ": install a newer torchport");
  }
  Contract contract;
  contract.format = json.at("format").get<std::string>();
  contract.model = value_or<std::string>(json, "model", "");
  for (const Json& entry : json.at("inputs")) contract.inputs.push_back(tensor_of(entry));
  for (const Json& entry : json.at("outputs")) contract.outputs.push_back(tensor_of(entry));
  for (const auto& [name, bounds] : json.at("axes").items()) {
    AxisBounds& axis = contract.axes[name];
    axis.minimum = value_or<std::int64_t>(bounds, "minimum", 1);
    if (const auto most = value_or<std::int64_t>(bounds, "maximum", 0); most > 0)
      axis.maximum = most;
  }
  contract.rows_independent = value_or<bool>(json, "rows_independent", true);
  contract.host = host_of(json.at("host"));
  contract.json = text;
  return contract;
}

}  // namespace

Contract read_contract(const std::string& path) {
  const auto file = checkpoint::MappedFile::open(path);
  if (!file) throw std::runtime_error("cannot read " + path + ": " + file.error().message);
  const auto text = deploy::find_contract(path, file->bytes());
  if (!text) throw std::runtime_error("cannot run " + path + ": " + text.error().message);
  try {
    return contract_of(*text);
  } catch (const Json::exception& error) {
    throw std::runtime_error("cannot run " + path + ": its contract is damaged: " + error.what());
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("cannot run " + path + ": " + error.what());
  }
}

}  // namespace torchport
