// What the emitters of instructions share: an instruction as C++ that calls torchport/ptx*.h.
//
// A family of instructions is a table of names and functions in a file of its own.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/ptx/instruction.h"

namespace torchport::cuda::ptx {

// Where the C++ of the headers is.
inline constexpr std::string_view kPtx = "::torchport::ptx::";

// An instruction that is being read: modifiers are taken one by one, in any order.
class Reading {
 public:
  explicit Reading(const Item& item)
      : item_(item), left_(item.words.begin() + 1, item.words.end()) {}

  [[nodiscard]] const Item& item() const { return item_; }
  [[nodiscard]] std::size_t count() const { return item_.operands.size(); }

  // Whether the modifier is there; it is taken.
  bool take(std::string_view modifier);
  // The first of these that is there, or "".
  std::string take_one(std::initializer_list<std::string_view> modifiers);
  void take_all(std::initializer_list<std::string_view> modifiers);
  // Modifiers with this beginning.
  void take_prefix(std::string_view prefix);
  // The next type ("u32"), or "".
  std::string take_type();
  // kNearest, kZero, kUp or kDown of torchport::Round.
  std::string take_rounding();
  // , After{...} if there is .ftz, .sat, .satfinite, .relu, .NaN or .xorsign.abs, or "".
  std::string take_after();

  // The C++ of an operand: of a source of a type, and of a destination.
  [[nodiscard]] std::string source(std::size_t i, std::string_view type = "b32");
  [[nodiscard]] std::string source(const Operand& operand, std::string_view type = "b32");
  [[nodiscard]] std::string target(std::size_t i);
  [[nodiscard]] std::string target(const Operand& operand);
  // As bool.
  [[nodiscard]] std::string predicate(std::size_t i);
  [[nodiscard]] std::string predicate(const Operand& operand);
  // The pointer of [base+offset].
  [[nodiscard]] std::string address(std::size_t i, bool shared);

  void need(std::size_t least, std::size_t most);
  void refuse(std::string why = {});
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] const std::vector<std::string>& left() const { return left_; }

 private:
  const Item& item_;
  std::vector<std::string> left_;
  std::string error_;
};

// The name of a type in torchport/ptx_types.h.
[[nodiscard]] std::string tag(std::string_view type);
[[nodiscard]] bool is_type(std::string_view word);
[[nodiscard]] bool is_float(std::string_view type);
[[nodiscard]] bool is_signed(std::string_view type);
[[nodiscard]] unsigned bits_of(std::string_view type);
// Site{...} of an instruction that waits for others.
[[nodiscard]] std::string site(const Reading& reading);

// f<types>(arguments);
[[nodiscard]] std::string call(std::string_view function, const std::vector<std::string>& types,
                               const std::vector<std::string>& arguments);

// Returns C++ with its `;`. What cannot be done is refused by reading.refuse().
using Emit = std::string (*)(Reading& reading);
struct Family {
  std::string_view name;  // the first word of the opcode
  Emit emit;
};
[[nodiscard]] const std::vector<Family>& arithmetic_family();
[[nodiscard]] const std::vector<Family>& bits_family();
[[nodiscard]] const std::vector<Family>& conversion_family();
[[nodiscard]] const std::vector<Family>& memory_family();
[[nodiscard]] const std::vector<Family>& warp_family();
[[nodiscard]] const std::vector<Family>& matrix_family();
[[nodiscard]] const std::vector<Family>& barrier_family();

}  // namespace torchport::cuda::ptx
