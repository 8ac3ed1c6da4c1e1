// A pickle as data: what it would build, without building any of it.
//
// torch's own unpicklers call what a file names. This one calls nothing: globals stay names, calls
// stay calls, persistent ids stay what they hold. Protocols 0 to 5 (Lib/pickletools.py documents
// the opcodes). Time and memory grow with the file's size and are bounded by Limits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace torchport::checkpoint {

// The number of an object within its Pickle. Objects may hold one another in circles.
using Ref = std::uint32_t;
inline constexpr Ref kNoRef = 0xffff'ffff;

enum class Type : std::uint8_t {
  kNone,
  kBool,    // integer
  kInt,     // integer; text has the bytes, little-endian, where it has more than 64 bits
  kFloat,   // real
  kString,  // text, UTF-8 (surrogates passed through)
  kBytes,   // text
  kTuple,   // items
  kList,    // items
  kSet,     // items
  kDict,    // entries
  kGlobal,  // text: "module name", as in the file
  kCall,    // items: what is called, its arguments (a tuple or, for NEWOBJ_EX, a second: a dict)
  kPersistent,  // items: the id
};

struct Object {
  Type type = Type::kNone;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<Ref> items;
  std::vector<std::pair<Ref, Ref>> entries;  // of a dict, or set on what a call made
  Ref state = kNoRef;                        // what BUILD gives a call's result
};

class Pickle {
 public:
  [[nodiscard]] const Object& at(Ref ref) const { return objects_[ref]; }
  [[nodiscard]] const Object& root() const { return objects_[root_]; }
  [[nodiscard]] Ref root_ref() const { return root_; }
  [[nodiscard]] std::size_t size() const { return objects_.size(); }
  // How many bytes the pickle took; more may follow it.
  [[nodiscard]] std::size_t length() const { return length_; }
  // All globals, in the order of their first appearance, as "module.name".
  [[nodiscard]] std::vector<std::string> globals() const;

  // The entry of a dict under a string; kNoRef where there is none, and for other objects.
  [[nodiscard]] Ref find(const Object& dict, std::string_view key) const;
  // "module.name" of a global, else empty.
  [[nodiscard]] std::string name_of(Ref ref) const;

 private:
  friend class PickleMachine;
  std::vector<Object> objects_;
  Ref root_ = 0;
  std::size_t length_ = 0;
};

struct PickleLimits {
  std::size_t max_objects = 8'000'000;
  std::size_t max_bytes = std::size_t{512} << 20U;
};

// Reads the pickle at the start of `bytes`. kSyntax where it is none or is cut off, with the offset
// and the opcode in words; kBudget past the limits. Thread-safe.
[[nodiscard]] base::Result<Pickle> read_pickle(std::string_view bytes,
                                               const PickleLimits& limits = {});

}  // namespace torchport::checkpoint
