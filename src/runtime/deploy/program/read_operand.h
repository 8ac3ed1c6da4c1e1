// Reads the arguments of nodes out of JSON.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include <c10/core/ScalarType.h>
#include <nlohmann/json.hpp>

#include "runtime/deploy/program/graph.h"

namespace torchport::deploy {

// How a reader finds the number of a value, and reads a graph inside of an argument.
struct OperandReader {
  std::function<std::size_t(const std::string& name)> slot_of;
  std::function<std::shared_ptr<const Graph>(const nlohmann::json& graph)> graph_of;
};

// Throws std::runtime_error for what a program without Python cannot have, and json::exception for
// damaged text.
[[nodiscard]] Operand read_operand(const nlohmann::json& argument, const OperandReader& reader);

// The dtype with this number in the schema. Throws std::runtime_error for another one.
[[nodiscard]] c10::ScalarType read_scalar_type(const nlohmann::json& number);

// The only member of a union of the schema: {"as_int": 3} is ("as_int", 3).
[[nodiscard]] std::pair<std::string, const nlohmann::json&> member_of(const nlohmann::json& tagged);

}  // namespace torchport::deploy
