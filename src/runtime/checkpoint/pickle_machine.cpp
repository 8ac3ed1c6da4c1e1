#include "runtime/checkpoint/pickle_machine.h"

#include <fmt/format.h>

namespace torchport::checkpoint {

base::Result<Pickle> read_pickle(std::string_view bytes, const PickleLimits& limits) {
  return PickleMachine(bytes, limits).run();
}

base::Result<Pickle> PickleMachine::run() {
  if (bytes_.size() > limits_.max_bytes) bytes_ = bytes_.substr(0, limits_.max_bytes);
  while (!stopped_) {
    std::string_view opcode;
    const std::size_t start = at_;
    const bool allowed = ++steps_ <= limits_.max_steps || too_much("opcodes");
    if (!allowed || !take(1, opcode) || !step(static_cast<std::uint8_t>(opcode[0]))) {
      if (!error_) broken("is cut off");
      error_->message = fmt::format("byte {}: {}", start, error_->message);
      return tl::unexpected<base::Error>(std::move(*error_));
    }
  }
  pickle_.length_ = at_;
  return std::move(pickle_);
}

bool PickleMachine::step(std::uint8_t opcode) {
  std::string_view skipped;
  switch (opcode) {
    case 0x80:  // PROTO
      return take(1, skipped);
    case 0x95:  // FRAME
      return take(8, skipped);
    case '.': {  // STOP
      stopped_ = true;
      return pop(pickle_.root_);
    }
    case '(':  // MARK
      marks_.push_back(stack_.size());
      return marks_.size() <= limits_.max_objects || too_much("marks");
    case '0': {  // POP
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
        return true;
      }
      Ref dropped = kNoRef;
      return pop(dropped);
    }
    case '1': {  // POP_MARK
      std::vector<Ref> dropped;
      return pop_mark(dropped);
    }
    case '2': {  // DUP
      Ref ref = kNoRef;
      return top(ref) && push_ref(ref);
    }
    case 'N':
      return push({});
    case 0x88:
      return push_int(1, Type::kBool);
    case 0x89:
      return push_int(0, Type::kBool);
    default:
      break;
  }
  static constexpr std::string_view kNumbers = "IJKMLFG\x8a\x8b";
  static constexpr std::string_view kTexts = "SUTVXBC\x8c\x8d\x8e\x96\x97\x98";
  static constexpr std::string_view kCollections = "])}tlda eus\x85\x86\x87\x8f\x90\x91";
  static constexpr std::string_view kMemory = "pqrghj\x94";
  const char c = static_cast<char>(opcode);
  if (kNumbers.find(c) != std::string_view::npos) return number(opcode);
  if (kTexts.find(c) != std::string_view::npos) return text(opcode);
  if (c != ' ' && kCollections.find(c) != std::string_view::npos) return collection(opcode);
  if (kMemory.find(c) != std::string_view::npos) return memory(opcode);
  return object(opcode);
}

bool PickleMachine::take(std::size_t count, std::string_view& out) {
  if (count > bytes_.size() - at_) return broken("is cut off");
  out = bytes_.substr(at_, count);
  at_ += count;
  return true;
}

bool PickleMachine::unsigned_of(unsigned width, std::uint64_t& value) {
  std::string_view raw;
  if (!take(width, raw)) return false;
  value = 0;
  for (unsigned i = 0; i < width; ++i)
    value |= std::uint64_t{static_cast<std::uint8_t>(raw[i])} << (8 * i);
  return true;
}

bool PickleMachine::line(std::string_view& out) {
  const std::size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) return broken("is cut off");
  out = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return true;
}

bool PickleMachine::counted(unsigned width, std::string_view& out) {
  std::uint64_t size = 0;
  return unsigned_of(width, size) && take(size, out);
}

bool PickleMachine::push(Object object) {
  if (pickle_.objects_.size() >= limits_.max_objects) return too_much("objects");
  pickle_.objects_.push_back(std::move(object));
  return push_ref(static_cast<Ref>(pickle_.objects_.size() - 1));
}

bool PickleMachine::push_ref(Ref ref) {
  if (stack_.size() >= limits_.max_objects) return too_much("objects");
  stack_.push_back(ref);
  return true;
}

bool PickleMachine::pop(Ref& ref) {
  if (!top(ref)) return false;
  stack_.pop_back();
  return true;
}

bool PickleMachine::top(Ref& ref) {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) return broken("pops an empty stack");
  ref = stack_.back();
  return true;
}

bool PickleMachine::pop_mark(std::vector<Ref>& items) {
  if (marks_.empty()) return broken("needs a mark, but there is none");
  const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  items.assign(from, stack_.end());
  stack_.erase(from, stack_.end());
  marks_.pop_back();
  return true;
}

bool PickleMachine::make(Type type, std::vector<Ref> items) {
  if (!add_links(items.size())) return false;
  Object made;
  made.type = type;
  made.items = std::move(items);
  return push(std::move(made));
}

bool PickleMachine::call(Ref callee, std::vector<Ref> arguments) {
  arguments.insert(arguments.begin(), callee);
  return make(Type::kCall, std::move(arguments));
}

bool PickleMachine::global(std::string_view module, std::string_view name) {
  if (module.size() + name.size() >= kLongestText) return broken("has a name that is too long");
  Object made;
  made.type = Type::kGlobal;
  return keep_text(made, fmt::format("{} {}", module, name)) && push(std::move(made));
}

bool PickleMachine::remember(std::uint64_t key) {
  Ref ref = kNoRef;
  if (!top(ref)) return false;
  memo_[key] = ref;
  return memo_.size() <= limits_.max_objects || too_much("memo entries");
}

// Counts references from one object to others, before they are added.
bool PickleMachine::add_links(std::size_t count) {
  links_ += count;
  return links_ <= limits_.max_links || too_much("references");
}

bool PickleMachine::keep_text(Object& object, std::string_view text) {
  object.text = text.substr(0, kLongestText);
  if (object.text.size() > sizeof(std::string) / 2) text_ += object.text.size();
  return text_ <= limits_.max_text || too_much("texts");
}

bool PickleMachine::too_much(std::string_view of_what) {
  if (!error_)
    error_ = base::Error{base::ErrorCode::kBudget,
                         fmt::format("holds more {} than a file of weights needs, and loading it "
                                     "would take long; nothing in it was run",
                                     of_what),
                         {},
                         0};
  return false;
}

bool PickleMachine::broken(std::string what) {
  if (!error_) error_ = base::Error{base::ErrorCode::kSyntax, std::move(what), {}, 0};
  return false;
}

}  // namespace torchport::checkpoint
