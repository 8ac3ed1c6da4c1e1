// The text of an asm statement as instructions of PTX.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace torchport::cuda::ptx {

enum class OperandKind : std::uint8_t {
  kRegister,  // text: the C++ variable
  kInteger,   // text: as PTX writes it
  kFloat,
  kSpecial,  // text: "laneid", "tid.x"
  kVector,   // parts
  kAddress,  // parts[0]: the base; text: what is added, as C++
  kPair,     // a|b in parts
  kLabel,
  kSink,  // _
};

struct Operand {
  OperandKind kind = OperandKind::kSink;
  bool negated = false;  // !p
  std::string text;
  std::vector<Operand> parts;
};

enum class ItemKind : std::uint8_t { kOpen, kClose, kRegisters, kLabel, kInstruction };

struct Item {
  ItemKind kind = ItemKind::kInstruction;
  // kRegisters: the type ("pred", "b32") and the C++ names. kLabel: the name.
  std::string name;
  std::vector<std::string> names;
  // kInstruction: "ld.global.v2.f32" split at its points, and what it is given.
  std::string opcode;
  std::vector<std::string> words;
  std::vector<Operand> operands;
  std::string guard;  // C++; empty: always
};

// `text`: with %0, %[name] and %%. `operand_names`: the names of the statement's operands in order,
// empty where an operand has none; a name is the C++ variable torchport_I of operand I.
[[nodiscard]] base::Result<std::vector<Item>> parse(std::string_view text,
                                                    const std::vector<std::string>& operand_names);

}  // namespace torchport::cuda::ptx
