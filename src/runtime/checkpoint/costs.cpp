#include "runtime/checkpoint/costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace torchport::checkpoint {

namespace {

// A dict of ordinary keys hashes a few values for each of its entries.
constexpr std::uint64_t kFreeHashes = 1'000'000;
constexpr std::uint64_t kHashesPerObject = 10;
// CPython hashes an integer to its remainder modulo 2^61 - 1, so that only large ones have equal
// hashes. In a tuple the hashes of the items are mixed without a secret.
constexpr std::int64_t kLarge = std::int64_t{1} << 60;
constexpr std::int64_t kLargeInTuple = std::int64_t{1} << 40;
constexpr std::size_t kMostLargeKeys = 1'000;
constexpr std::int64_t kLargestBytes = std::int64_t{1} << 20;

class Costs {
 public:
  explicit Costs(const Pickle& pickle) : pickle_(pickle) {}

  std::vector<std::string> find() {
    measure_tuples();
    std::vector<std::string> found;
    for (Ref ref = 0; ref < pickle_.size(); ++ref) {
      const Object& object = pickle_.at(ref);
      std::size_t large = 0;
      for (const auto& [key, value] : object.entries) large += add_key(key);
      if (object.type == Type::kCall) large += add_arguments(object, found);
      if (large > kMostLargeKeys && !has_large_)
        found.push_back(fmt::format("has a table with {} keys that are made to be slow", large));
      has_large_ |= large > kMostLargeKeys;
    }
    if (hashes_ > kFreeHashes + kHashesPerObject * pickle_.size())
      found.emplace_back("has keys of nested tuples that would take hours to hash");
    return found;
  }

 private:
  // How many values a hash of each object visits. A tuple is made after its items.
  void measure_tuples() {
    values_.assign(pickle_.size(), 1);
    for (Ref ref = 0; ref < pickle_.size(); ++ref) {
      const Object& object = pickle_.at(ref);
      if (object.type != Type::kTuple && object.type != Type::kCall) continue;
      for (const Ref item : object.items) {
        if (item >= ref || __builtin_add_overflow(values_[ref], values_[item], &values_[ref]))
          values_[ref] = UINT64_MAX / 2;
        values_[ref] = std::min(values_[ref], UINT64_MAX / 2);
      }
    }
  }

  // Returns whether the key is a number, or has one, that could have the hash of another.
  bool add_key(Ref key) {
    hashes_ = std::min(hashes_ + std::min(values_[key], kMostHashes), kMostHashes);
    const Object& object = pickle_.at(key);
    if (object.type != Type::kTuple) return is_large(object, kLarge);
    return std::any_of(object.items.begin(), object.items.end(), [&](Ref item) {
      const Object& part = pickle_.at(item);
      return part.type == Type::kTuple || is_large(part, kLargeInTuple);
    });
  }

  static bool is_large(const Object& number, std::int64_t limit) {
    if (number.type == Type::kFloat) return std::abs(number.real) >= static_cast<double>(limit);
    return number.type == Type::kInt &&
           (!number.text.empty() || number.integer >= limit || number.integer <= -limit);
  }

  // The arguments of a call that makes a table or bytes. Returns the number of large keys.
  std::size_t add_arguments(const Object& call, std::vector<std::string>& found) {
    static constexpr auto kTables = std::to_array<std::string_view>(
        {"builtins.set", "builtins.frozenset", "builtins.dict", "collections.OrderedDict",
         "collections.Counter", "collections.defaultdict"});
    const std::string name = pickle_.name_of(call.items.front());
    if (name.empty() || call.items.size() < 2) return 0;
    const Object& arguments = pickle_.at(call.items[1]);
    std::size_t large = 0;
    for (const Ref argument : arguments.items) {
      const Object& given = pickle_.at(argument);
      if ((name == "builtins.bytearray" || name == "builtins.bytes") && given.type == Type::kInt &&
          (!given.text.empty() || given.integer > kLargestBytes))
        found.push_back(fmt::format("asks for {} bytes of zeros", given.integer));
      if (std::find(kTables.begin(), kTables.end(), name) == kTables.end()) continue;
      // The keys are the items, or the first items of pairs.
      for (const Ref item : given.items) {
        const Object& pair = pickle_.at(item);
        large += add_key(item);
        if (pair.type == Type::kList && !pair.items.empty()) large += add_key(pair.items.front());
      }
    }
    return large;
  }

  static constexpr std::uint64_t kMostHashes = UINT64_MAX / 4;
  const Pickle& pickle_;
  std::vector<std::uint64_t> values_;
  std::uint64_t hashes_ = 0;
  bool has_large_ = false;
};

}  // namespace

std::vector<std::string> costs_of(const Pickle& pickle) {
  return Costs(pickle).find();
}

}  // namespace torchport::checkpoint
