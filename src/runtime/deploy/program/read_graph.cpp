#include <stdexcept>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "runtime/deploy/program/graph.h"
#include "runtime/deploy/program/read_operand.h"

namespace torchport::deploy {

namespace {

using nlohmann::json;

constexpr std::int64_t kSchema = 8;
constexpr int kDeepest = 64;

// The innermost line of a stack trace as Python prints it: "net.py:8".
std::string place_of(const json& node) {
  const auto metadata = node.find("metadata");
  if (metadata == node.end() || !metadata->is_object()) return {};
  const auto found = metadata->find("stack_trace");
  if (found == metadata->end() || !found->is_string()) return {};
  const auto& trace = found->get_ref<const std::string&>();
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  const std::size_t file = trace.rfind(kFile);
  if (file == std::string::npos) return {};
  const std::size_t end = trace.find(kLine, file);
  if (end == std::string::npos) return {};
  const std::size_t digits = end + kLine.size();
  const std::size_t last = trace.find_first_not_of("0123456789", digits);
  const std::size_t begin = file + kFile.size();
  return trace.substr(begin, end - begin) + ":" +
         trace.substr(digits, last == std::string::npos ? last : last - digits);
}

// Reads one graph. Values of the graph around it are not known in it: it takes them as inputs.
class GraphReader {
 public:
  explicit GraphReader(int depth) : depth_(depth) {
    if (depth > kDeepest) throw std::runtime_error("graphs inside of graphs, too deep");
    reader_.slot_of = [this](const std::string& name) {
      const auto found = slots_.find(name);
      if (found == slots_.end()) throw std::runtime_error("the value " + name + " is not defined");
      return found->second;
    };
    reader_.graph_of = [this](const json& graph) {
      return std::make_shared<const Graph>(GraphReader(depth_ + 1).read(graph));
    };
  }

  Graph read(const json& graph) {
    Graph result;
    for (const json& input : graph.at("inputs")) result.inputs.push_back(input_slot(input));
    for (const json& node : graph.at("nodes")) result.nodes.push_back(read_node(node));
    for (const json& output : graph.at("outputs"))
      result.outputs.push_back(read_operand(output, reader_));
    result.slots = count_;
    return result;
  }

 private:
  std::size_t define(const std::string& name) {
    slots_[name] = count_;
    return count_++;
  }

  // An input without a name (None, a number) has a slot that nothing reads.
  std::size_t input_slot(const json& input) {
    const auto [kind, value] = member_of(input);
    if (kind == "as_custom_obj")
      throw std::runtime_error("an object of a custom class, which only Python has");
    for (const char* key : {"name", "as_name"}) {
      if (value.is_object() && value.contains(key)) return define(value.at(key).get<std::string>());
    }
    return count_++;
  }

  Node read_node(const json& node) {
    Node result;
    result.target = node.at("target").get<std::string>();
    result.place = place_of(node);
    for (const json& input : node.at("inputs")) {
      try {
        result.inputs.emplace_back(input.at("name").get<std::string>(),
                                   read_operand(input.at("arg"), reader_));
      } catch (const std::runtime_error& error) {
        throw std::runtime_error((result.place.empty() ? "" : result.place + ": ") + result.target +
                                 " has " + error.what());
      }
    }
    for (const json& output : node.at("outputs")) result.outputs.push_back(read_given(output));
    return result;
  }

  Given read_given(const json& output) {
    const auto [kind, value] = member_of(output);
    Given given;
    if (kind == "as_optional_tensor") {
      if (value.contains("as_tensor")) return read_given({{"as_tensor", value.at("as_tensor")}});
      return given;  // None
    }
    if (kind == "as_tensors" || kind == "as_optional_tensors") {
      given.kind = Given::Kind::kList;
      for (const json& item : value) {
        const bool tagged = kind == "as_optional_tensors";
        if (tagged && !item.contains("as_tensor")) {
          given.slots.push_back(count_++);  // None
          continue;
        }
        const json& tensor = tagged ? item.at("as_tensor") : item;
        given.slots.push_back(define(tensor.at("name").get<std::string>()));
      }
    } else if (value.is_object() && (value.contains("name") || value.contains("as_name"))) {
      given.kind = Given::Kind::kValue;
      const char* key = value.contains("name") ? "name" : "as_name";
      given.slots.push_back(define(value.at(key).get<std::string>()));
    }
    return given;
  }

  int depth_;
  std::size_t count_ = 0;
  std::unordered_map<std::string, std::size_t> slots_;
  OperandReader reader_;
};

// A symbol stands in the file as "Symbol('s77', positive=True, integer=True)".
InputSize read_size(const json& size) {
  InputSize result;
  const auto [kind, value] = member_of(size);
  if (kind == "as_int") {
    result.fixed = value.get<std::int64_t>();
    return result;
  }
  constexpr std::string_view kSymbol = "Symbol('";
  const auto expression = value.at("expr_str").get<std::string>();
  const std::size_t end = expression.find('\'', kSymbol.size());
  if (expression.starts_with(kSymbol) && end != std::string::npos)
    result.symbol = expression.substr(kSymbol.size(), end - kSymbol.size());
  return result;
}

// What the graph says of the tensor with this name.
void read_tensor_of(const json& graph, const json& argument, ProgramInput& input) {
  const auto tensors = graph.find("tensor_values");
  if (tensors == graph.end()) return;
  const auto found = tensors->find(argument.at("name").get<std::string>());
  if (found == tensors->end()) return;
  input.requires_grad = found->at("requires_grad").get<bool>();
  input.dtype = read_scalar_type(found->at("dtype"));
  for (const json& size : found->at("sizes")) input.sizes.push_back(read_size(size));
  input.is_known = true;
}

std::optional<std::int64_t> bound_of(const json& range, const char* key) {
  const auto found = range.find(key);
  if (found == range.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

ProgramInput read_input(const json& graph, const json& specification) {
  ProgramInput input;
  const auto [kind, value] = member_of(specification);
  if (kind == "user_input") {
    const auto [type, argument] = member_of(value.at("arg"));
    input.is_tensor = type == "as_tensor";
    if (input.is_tensor) read_tensor_of(graph, argument, input);
    if (type.starts_with("as_sym"))
      throw std::runtime_error("an input that is a number, not a tensor");
  } else if (kind == "parameter") {
    input.weight = value.at("parameter_name").get<std::string>();
    read_tensor_of(graph, value.at("arg"), input);
  } else if (kind == "buffer") {
    input.weight = value.at("buffer_name").get<std::string>();
  } else if (kind == "tensor_constant") {
    input.weight = value.at("tensor_constant_name").get<std::string>();
  } else if (kind != "constant_input") {
    throw std::runtime_error("an input of the kind " + kind + ", which only Python has");
  }
  return input;
}

void check_version(const json& program) {
  const auto version = program.at("schema_version").at("major").get<std::int64_t>();
  if (version == kSchema) return;
  throw std::runtime_error("it has version " + std::to_string(version) +
                           " of torch's schema, and not " + std::to_string(kSchema) +
                           ": export it again with this release of torch");
}

}  // namespace

ProgramGraph read_graph(std::string_view text) {
  try {
    const json program = json::parse(text);
    check_version(program);
    const json& module = program.at("graph_module");
    ProgramGraph result;
    result.graph = GraphReader(0).read(module.at("graph"));
    const json& signature = module.at("signature");
    for (const json& input : signature.at("input_specs"))
      result.inputs.push_back(read_input(module.at("graph"), input));
    const json ranges = program.value("range_constraints", json::object());
    for (const auto& [symbol, range] : ranges.items())
      result.ranges.emplace(symbol,
                            SizeRange{bound_of(range, "min_val"), bound_of(range, "max_val")});
    for (const json& output : signature.at("output_specs"))
      result.is_result.push_back(member_of(output).first == "user_output");
    if (result.inputs.size() != result.graph.inputs.size() ||
        result.is_result.size() != result.graph.outputs.size())
      throw std::runtime_error("its signature does not fit its graph");
    return result;
  } catch (const json::exception& error) {
    throw std::runtime_error(std::string("its program is damaged: ") + error.what());
  }
}

}  // namespace torchport::deploy
