// Reads a pickle as data: a description of the objects that it would build, without building them.
//
// A pickle is a program, and torch's own unpicklers call what the program names. This reader calls
// nothing: a global stays a name, a call stays a call with its arguments, a persistent id stays a
// value. Protocols 0 to 5 are read (Lib/pickletools.py documents the opcodes). Time and memory grow
// linearly with the file's size and are bounded by PickleLimits: at most 2 s and 512 MB for any
// file, together with the description that pickled.h makes of it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace torchport::checkpoint {

// The index of an object in its Pickle. Pointers would not do, because objects may contain each
// other in cycles.
using Ref = std::uint32_t;
inline constexpr Ref kNoRef = 0xffff'ffff;

enum class Type : std::uint8_t {
  kNone,
  kBool,    // integer
  kInt,     // integer; if it has more than 64 bits, text has its bytes, little-endian
  kFloat,   // real
  kString,  // text, UTF-8 (surrogates passed through), cut off after kLongestText bytes; integer:
            // its whole size in bytes
  kBytes,   // integer: the size in bytes
  kTuple,   // items
  kList,    // items
  kSet,     // items
  kDict,    // entries
  kGlobal,  // text: "module name", as in the file
  kCall,    // items: the callee and its arguments (a tuple; for NEWOBJ_EX also a dict)
  kPersistent,  // items: the id
};

inline constexpr std::size_t kLongestText = 1024;

struct Object {
  Type type = Type::kNone;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<Ref> items;
  std::vector<std::pair<Ref, Ref>> entries;  // of a dict, or set on the result of a call
  Ref state = kNoRef;                        // the state that BUILD gives to the result of a call
};

class Pickle {
 public:
  [[nodiscard]] const Object& at(Ref ref) const { return objects_[ref]; }
  [[nodiscard]] const Object& root() const { return objects_[root_]; }
  [[nodiscard]] Ref root_ref() const { return root_; }
  [[nodiscard]] std::size_t size() const { return objects_.size(); }
  // The number of bytes that the pickle takes; more data may follow it.
  [[nodiscard]] std::size_t length() const { return length_; }
  // All globals, in the order of their first appearance, as "module.name".
  [[nodiscard]] std::vector<std::string> globals() const;

  // The value of a dict for a string key; kNoRef if there is none or if this is not a dict.
  [[nodiscard]] Ref find(const Object& dict, std::string_view key) const;
  // "module.name" of a global; empty for other objects.
  [[nodiscard]] std::string name_of(Ref ref) const;

 private:
  friend class PickleMachine;
  std::deque<Object> objects_;  // not a vector, which would copy itself to grow
  Ref root_ = 0;
  std::size_t length_ = 0;
};

struct PickleLimits {
  std::size_t max_objects = 1'500'000;            // also of marks, memo entries and stack entries
  std::size_t max_links = 6'000'000;              // items and entries of all objects
  std::size_t max_steps = 16'000'000;             // opcodes
  std::size_t max_text = std::size_t{64} << 20U;  // bytes of all texts that are kept
  std::size_t max_bytes = std::size_t{512} << 20U;
};

// Reads the pickle at the start of `bytes`. Fails with kSyntax, which names the offset and the
// opcode, if it is not a pickle or is cut off, and with kBudget beyond the limits. Thread safe.
[[nodiscard]] base::Result<Pickle> read_pickle(std::string_view bytes,
                                               const PickleLimits& limits = {});

}  // namespace torchport::checkpoint
