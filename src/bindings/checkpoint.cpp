#include <tuple>

#include <nlohmann/json.hpp>
#include <torch/library.h>
#include <torchport/checkpoint.h>

#include "bindings/as_json.h"

namespace torchport {

template <typename Visit>
void members(FileSummary& summary, const Visit& visit) {
  visit("format", summary.format);
  visit("fault", summary.fault);
  visit("refused", summary.refused);
  visit("mappable", summary.mappable);
}

template <typename Visit>
void members(LoadReport::Mismatch& mismatch, const Visit& visit) {
  visit("name", mismatch.name);
  visit("wanted", mismatch.wanted);
  visit("given", mismatch.given);
}

template <typename Visit>
void members(LoadReport& report, const Visit& visit) {
  visit("missing", report.missing);
  visit("unexpected", report.unexpected);
  visit("shapes", report.shapes);
  visit("dtypes", report.dtypes);
  visit("remapped", report.remapped);
  visit("hint", report.hint);
  bool complete = report.complete();
  visit("complete", complete);
  std::string text = report.text();
  visit("text", text);
}

template <typename Visit>
void members(LoadPlan& plan, const Visit& visit) {
  visit("pairs", plan.pairs);
  visit("report", plan.report);
}

namespace bindings {

namespace {

std::tuple<std::string, std::vector<std::string>, std::vector<at::Tensor>> load(
    const std::string& path, c10::Device device, bool map, std::optional<at::ScalarType> dtype) {
  LoadOptions options;
  options.device = device;
  options.map = map;
  options.dtype = dtype;
  LoadedTensors loaded = load_tensors(path, options);
  std::vector<std::string> names;
  std::vector<at::Tensor> tensors;
  for (NamedTensor& named : loaded.tensors) {
    names.push_back(std::move(named.name));
    tensors.push_back(std::move(named.tensor));
  }
  return {std::move(loaded.format), std::move(names), std::move(tensors)};
}

// `metadata` is JSON: [[key, value], ...].
void save(const std::string& path, std::vector<std::string> names, std::vector<at::Tensor> tensors,
          const std::string& metadata) {
  TORCH_CHECK_VALUE(names.size() == tensors.size(), "torchport: ", names.size(), " names for ",
                    tensors.size(), " tensors");
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < names.size(); ++i)
    named.push_back({std::move(names[i]), std::move(tensors[i])});
  save_safetensors(
      path, named,
      json::Json::parse(metadata).get<std::vector<std::pair<std::string, std::string>>>());
}

// Out of JSON: [[name, shape, dtype], ...].
std::vector<TensorSlot> slots_of(const std::string& text) {
  std::vector<TensorSlot> slots;
  for (const json::Json& slot : json::Json::parse(text)) {
    const auto dtype = dtype_named(slot.at(2).get<std::string>());
    TORCH_CHECK_VALUE(dtype, "torchport: ", slot.at(2).get<std::string>(), " is not a dtype");
    slots.push_back(
        {slot.at(0).get<std::string>(), slot.at(1).get<std::vector<std::int64_t>>(), *dtype});
  }
  return slots;
}

std::string summarize_file(const std::string& path) {
  return as_json(summarize(path));
}

// `ties` is JSON: lists of names.
std::string plan(const std::string& wanted, const std::string& given, bool remap_prefixes,
                 const std::string& ties) {
  return as_json(plan_load(slots_of(wanted), slots_of(given), remap_prefixes,
                           json::Json::parse(ties).get<std::vector<std::vector<std::string>>>()));
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def(
      "load_tensors(str path, Device device, bool map, ScalarType? dtype) -> (str, str[], "
      "Tensor[])",
      &load);
  library.def("save_safetensors(str path, str[] names, Tensor[] tensors, str metadata) -> ()",
              &save);
  library.def("summarize_file(str path) -> str", &summarize_file);
  library.def("plan_load(str wanted, str given, bool remap_prefixes, str ties) -> str", &plan);
}

}  // namespace

}  // namespace bindings

}  // namespace torchport
