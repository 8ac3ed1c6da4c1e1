// Executes a pickle's opcodes, on a stack of descriptions instead of a stack of objects.
//
// It is a class of its own so that the result (Pickle) does not carry the state of the reading. One
// object reads one pickle; it is not thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/checkpoint/pickle.h"

namespace torchport::checkpoint {

class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, const PickleLimits& limits)
      : bytes_(bytes), limits_(limits) {}

  [[nodiscard]] base::Result<Pickle> run();

 private:
  // Each handles a group of opcodes. It returns false, and sets error_, if the pickle is damaged.
  bool step(std::uint8_t opcode);
  bool number(std::uint8_t opcode);
  bool text(std::uint8_t opcode);
  bool collection(std::uint8_t opcode);
  bool memory(std::uint8_t opcode);
  bool object(std::uint8_t opcode);

  // Reading.
  bool take(std::size_t count, std::string_view& out);
  bool unsigned_of(unsigned width, std::uint64_t& value);
  bool line(std::string_view& out);
  bool counted(unsigned width, std::string_view& out);

  // The stack.
  bool push(Object object);
  bool push_ref(Ref ref);
  bool push_int(std::int64_t value, Type type = Type::kInt);
  bool push_long(std::string_view digits);
  bool pop(Ref& ref);
  bool pop_mark(std::vector<Ref>& items);
  bool top(Ref& ref);
  bool make(Type type, std::vector<Ref> items);
  bool call(Ref callee, std::vector<Ref> arguments);
  bool set_entries(const std::vector<Ref>& flat);
  bool global(std::string_view module, std::string_view name);
  bool remember(std::uint64_t key);

  bool add_links(std::size_t count);
  bool keep_text(Object& object, std::string_view text);

  bool broken(std::string what);
  bool too_much(std::string_view of_what);

  std::string_view bytes_;
  PickleLimits limits_;
  std::size_t at_ = 0;
  Pickle pickle_;
  std::vector<Ref> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Ref> memo_;
  std::size_t steps_ = 0;
  std::size_t links_ = 0;
  std::size_t text_ = 0;
  std::optional<base::Error> error_;
  bool stopped_ = false;
};

}  // namespace torchport::checkpoint
