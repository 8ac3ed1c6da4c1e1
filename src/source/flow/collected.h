// The facts of a file while they are collected. pack() makes the bytes from which FileFacts are
// read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "source/flow/facts.h"
#include "source/flow/sources.h"

namespace torchport::flow {

// The members are those of Call, Function, Class and FileFacts.
struct CollectedCall {
  Callee callee;
  std::uint16_t caller = kModuleCode;
  bool guarded = false;
  bool unknown_arguments = false;
  bool surely = false;
  std::uint32_t after = 0;
  std::vector<Sources> positional;
  std::vector<std::pair<std::string, Sources>> keywords;
};

struct CollectedFunction {
  std::string name;
  std::vector<std::string> parameters;
  bool feeds = false;
  Sources results;
  semantics::Type type = semantics::Type::kUnknown;
  semantics::DeviceState device = semantics::DeviceState::kUnknown;
  std::uint32_t line = 0;
  std::uint8_t traits = 0;
};

struct CollectedClass {
  std::string name;
  std::vector<std::string> bases;
};

struct CollectedFacts {
  bool kernels = false;
  bool knows_prefix = false;
  bool sets_visible_devices = false;
  bool sets_after_imports = false;
  semantics::CudaOrCpu cuda_or_cpu;
  std::vector<CollectedFunction> functions;
  std::vector<CollectedClass> classes;
  std::vector<CollectedCall> calls;
  std::vector<std::pair<std::string, std::string>> imports;  // name of the module -> dotted name
  std::vector<std::string> cuda_flags;
  FileTraits whole;
};

[[nodiscard]] std::string pack(const CollectedFacts& facts);

}  // namespace torchport::flow
