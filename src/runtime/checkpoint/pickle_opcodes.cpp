// Implements the opcodes that make numbers, texts, collections and objects.
#include <bit>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "runtime/checkpoint/pickle_machine.h"

namespace torchport::checkpoint {

namespace {

constexpr std::size_t kLongestQuoted = std::size_t{1} << 20U;

std::int64_t signed_of(std::uint64_t value, unsigned width) {
  const unsigned unused = 64 - 8 * width;
  return static_cast<std::int64_t>(value << unused) >> unused;
}

// Reads a quoted string of protocol 0. Escapes other than those of quotes and backslashes are kept
// as they are.
bool unquoted(std::string_view quoted, std::string& out) {
  if (quoted.size() < 2 || quoted.front() != quoted.back() ||
      (quoted.front() != '\'' && quoted.front() != '"'))
    return false;
  quoted = quoted.substr(1, quoted.size() - 2);
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] == '\\' && i + 1 < quoted.size() &&
        (quoted[i + 1] == '\\' || quoted[i + 1] == '\'' || quoted[i + 1] == '"'))
      ++i;
    out += quoted[i];
  }
  return true;
}

}  // namespace

bool PickleMachine::push_int(std::int64_t value, Type type) {
  Object made;
  made.type = type;
  made.integer = value;
  return push(std::move(made));
}

bool PickleMachine::push_long(std::string_view digits) {
  Object made;
  made.type = Type::kInt;
  if (digits.size() > 8) {
    made.integer = static_cast<std::int64_t>(digits.size());
    if (!keep_text(made, digits)) return false;
  } else if (!digits.empty()) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < digits.size(); ++i)
      value |= std::uint64_t{static_cast<std::uint8_t>(digits[i])} << (8 * i);
    made.integer = signed_of(value, static_cast<unsigned>(digits.size()));
  }
  return push(std::move(made));
}

bool PickleMachine::number(std::uint8_t opcode) {
  std::uint64_t value = 0;
  std::string_view digits;
  switch (opcode) {
    case 'J':
      return unsigned_of(4, value) && push_int(signed_of(value, 4));
    case 'K':
      return unsigned_of(1, value) && push_int(static_cast<std::int64_t>(value));
    case 'M':
      return unsigned_of(2, value) && push_int(static_cast<std::int64_t>(value));
    case 0x8a:
      return counted(1, digits) && push_long(digits);
    case 0x8b:
      return counted(4, digits) && push_long(digits);
    case 'G': {
      std::string_view raw;
      if (!take(8, raw)) return false;
      for (const char c : raw) value = value << 8U | static_cast<std::uint8_t>(c);
      Object made;
      made.type = Type::kFloat;
      made.real = std::bit_cast<double>(value);
      return push(std::move(made));
    }
    case 'F': {
      if (!line(digits)) return false;
      Object made;
      made.type = Type::kFloat;
      made.real = std::strtod(std::string(digits).c_str(), nullptr);
      return push(std::move(made));
    }
    default:
      break;
  }
  // Decimal digits: 'I' (whose 00 and 01 are booleans) and 'L' (which ends with an L).
  if (!line(digits)) return false;
  if (opcode == 'I' && (digits == "00" || digits == "01"))
    return push_int(digits == "01" ? 1 : 0, Type::kBool);
  if (opcode == 'L' && digits.ends_with('L')) digits.remove_suffix(1);
  std::int64_t parsed = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size())
    return broken("has an invalid number");
  return push_int(parsed);
}

bool PickleMachine::text(std::uint8_t opcode) {
  Object made;
  made.type = Type::kString;
  std::string_view raw;
  std::string plain;
  switch (opcode) {
    case 'S':
      if (!line(raw)) return false;
      if (raw.size() > kLongestQuoted) return broken("has a string that is too long");
      if (!unquoted(raw, plain)) return broken("has a string without quotes");
      raw = plain;
      break;
    case 'V':
      if (!line(raw)) return false;
      break;
    case 'U':
    case 0x8c:
      if (!counted(1, raw)) return false;
      break;
    case 'T':
    case 'X':
      if (!counted(4, raw)) return false;
      break;
    case 0x8d:
      if (!counted(8, raw)) return false;
      break;
    case 'C':
    case 'B':
    case 0x8e:
    case 0x96:
      made.type = Type::kBytes;
      if (!counted(opcode == 'C' ? 1 : opcode == 'B' ? 4 : 8, raw)) return false;
      break;
    case 0x98:  // READONLY_BUFFER
      return true;
    default:  // NEXT_BUFFER
      return broken("stores bytes outside of the file");
  }
  made.integer = static_cast<std::int64_t>(raw.size());
  return (made.type == Type::kBytes || keep_text(made, raw)) && push(std::move(made));
}

bool PickleMachine::set_entries(const std::vector<Ref>& flat) {
  Ref target = kNoRef;
  if (!top(target)) return false;
  if (flat.size() % 2 != 0) return broken("has a key without a value");
  if (!add_links(flat.size())) return false;
  auto& entries = pickle_.objects_[target].entries;
  for (std::size_t i = 0; i < flat.size(); i += 2) entries.emplace_back(flat[i], flat[i + 1]);
  return true;
}

bool PickleMachine::collection(std::uint8_t opcode) {
  std::vector<Ref> items;
  switch (opcode) {
    case ']':
      return make(Type::kList, {});
    case ')':
      return make(Type::kTuple, {});
    case 0x8f:
      return make(Type::kSet, {});
    case '}':
      return make(Type::kDict, {});
    case 't':
      return pop_mark(items) && make(Type::kTuple, std::move(items));
    case 'l':
      return pop_mark(items) && make(Type::kList, std::move(items));
    case 0x91:  // FROZENSET
      return pop_mark(items) && make(Type::kSet, std::move(items));
    case 'd':
      return pop_mark(items) && make(Type::kDict, {}) && set_entries(items);
    case 'u':
      return pop_mark(items) && set_entries(items);
    case 's':
      items.resize(2);
      return pop(items[1]) && pop(items[0]) && set_entries(items);
    case 0x85:
    case 0x86:
    case 0x87:
      items.resize(opcode - 0x84U);
      for (std::size_t i = items.size(); i-- > 0;)
        if (!pop(items[i])) return false;
      return make(Type::kTuple, std::move(items));
    default:
      break;
  }
  // 'a', 'e' and ADDITEMS append to the object below.
  items.resize(1);
  Ref target = kNoRef;
  if (!(opcode == 'a' ? pop(items[0]) : pop_mark(items)) || !top(target)) return false;
  if (!add_links(items.size())) return false;
  auto& held = pickle_.objects_[target].items;
  held.insert(held.end(), items.begin(), items.end());
  return true;
}

bool PickleMachine::memory(std::uint8_t opcode) {
  std::uint64_t key = 0;
  std::string_view digits;
  switch (opcode) {
    case 0x94:  // MEMOIZE
      return remember(memo_.size());
    case 'p':
    case 'g': {
      if (!line(digits)) return false;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), key);
      if (error != std::errc() || end != digits.data() + digits.size())
        return broken("has an invalid memo number");
      break;
    }
    default:
      if (!unsigned_of(opcode == 'q' || opcode == 'h' ? 1 : 4, key)) return false;
  }
  if (opcode == 'p' || opcode == 'q' || opcode == 'r') return remember(key);
  const auto found = memo_.find(key);
  return found != memo_.end() ? push_ref(found->second)
                              : broken("reads a memo entry that was never stored");
}

bool PickleMachine::object(std::uint8_t opcode) {
  std::string_view module;
  std::string_view name;
  std::vector<Ref> items(3);
  switch (opcode) {
    case 'c':
      return line(module) && line(name) && global(module, name);
    case 0x93: {  // STACK_GLOBAL
      if (!pop(items[1]) || !pop(items[0])) return false;
      const Object &from = pickle_.at(items[0]), &what = pickle_.at(items[1]);
      if (from.type != Type::kString || what.type != Type::kString)
        return broken("names a global with a value that is not a string");
      const std::string module_text = from.text;
      const std::string name_text = what.text;
      return global(module_text, name_text);
    }
    case 'R':
    case 0x81:  // NEWOBJ
      return pop(items[1]) && pop(items[0]) && call(items[0], {items[1]});
    case 0x92:  // NEWOBJ_EX
      return pop(items[2]) && pop(items[1]) && pop(items[0]) &&
             call(items[0], {items[1], items[2]});
    case 'b': {
      Ref target = kNoRef;
      if (!pop(items[0]) || !top(target)) return false;
      pickle_.objects_[target].state = items[0];
      return true;
    }
    case 'P': {
      if (!line(name)) return false;
      Object id;
      id.type = Type::kString;
      id.integer = static_cast<std::int64_t>(name.size());
      return keep_text(id, name) && push(std::move(id)) && pop(items[0]) &&
             make(Type::kPersistent, {items[0]});
    }
    case 'Q':
      return pop(items[0]) && make(Type::kPersistent, {items[0]});
    case 'i':  // INST
      if (!line(module) || !line(name) || !pop_mark(items) || !make(Type::kTuple, std::move(items)))
        return false;
      items.assign(2, kNoRef);
      return pop(items[1]) && global(module, name) && pop(items[0]) && call(items[0], {items[1]});
    case 'o':  // OBJ
      if (!pop_mark(items)) return false;
      if (items.empty()) return broken("creates an object without a class");
      {
        const Ref callee = items.front();
        items.erase(items.begin());
        Ref arguments = kNoRef;
        return make(Type::kTuple, std::move(items)) && pop(arguments) && call(callee, {arguments});
      }
    default:
      return broken(fmt::format("0x{:02x} is not a pickle opcode", opcode));
  }
}

}  // namespace torchport::checkpoint
