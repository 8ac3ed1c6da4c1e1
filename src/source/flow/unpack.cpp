// Reads facts from the bytes that pack() wrote.
#include <algorithm>

#include "source/flow/facts.h"

namespace torchport::flow {

namespace {

// Reads numbers, texts and lists. After bytes that pack() did not write ok() is false, and nothing
// is read beyond the end.
class Reader {
 public:
  Reader(std::string_view bytes, std::vector<std::string_view>& texts)
      : bytes_(bytes), texts_(texts) {
    list([&] {
      const std::uint64_t size = number();
      if (size > bytes_.size()) return fail();
      texts_.push_back(bytes_.substr(0, size));
      bytes_.remove_prefix(size);
    });
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return bytes_.empty(); }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 63 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }

  bool flag() { return number() != 0; }

  TextNumber text_number() {
    const std::uint64_t index = number();
    if (index < texts_.size()) return static_cast<TextNumber>(index);
    fail();
    return 0;
  }

  // A Callee starts with the character that says how the function is named.
  TextNumber callee() {
    const TextNumber index = text_number();
    if (ok_ && texts_[index].empty()) fail();
    return index;
  }

  std::string_view text() {
    const TextNumber index = text_number();
    return ok_ ? texts_[index] : std::string_view();
  }

  // Returns how many items there were.
  template <class Read>
  std::uint32_t list(const Read& read) {
    return repeat(number(), read);
  }

  // The same for a list that is one of the file's own, with the room that it needs.
  template <class Item, class Read>
  void fill(std::vector<Item>& items, const Read& read) {
    const std::uint64_t count = number();
    items.reserve(std::min<std::uint64_t>(count, bytes_.size()));
    repeat(count, [&] { items.push_back(read()); });
  }

  // Appends a list to one that holds those of many.
  template <class Item, class Read>
  Range part_of(std::vector<Item>& items, const Read& read) {
    const auto first = static_cast<std::uint32_t>(items.size());
    const std::uint32_t count = list([&] { items.push_back(read()); });
    return {first, count};
  }

 private:
  template <class Read>
  std::uint32_t repeat(std::uint64_t times, const Read& read) {
    // Each item has at least one byte, so a wrong number ends with the bytes.
    std::uint32_t count = 0;
    for (; count < times && ok_; ++count) read();
    return count;
  }

  void fail() {
    ok_ = false;
    bytes_ = {};
  }

  std::string_view bytes_;
  std::vector<std::string_view>& texts_;
  bool ok_ = true;
};

class Unpacker {
 public:
  Unpacker(FileFacts& facts) : facts_(facts), in_(*facts.packed, facts.texts) {}

  // Whether the bytes are those of facts.
  bool read() {
    const std::uint64_t of_file = in_.number();
    facts_.kernels = (of_file & 1U) != 0;
    facts_.knows_prefix = (of_file & 2U) != 0;
    facts_.sets_visible_devices = (of_file & 4U) != 0;
    facts_.sets_after_imports = (of_file & 8U) != 0;
    facts_.cuda_or_cpu = {(of_file & 16U) != 0, (of_file & 32U) != 0};
    in_.fill(facts_.functions, [&] { return function(); });
    in_.list([&] {
      const std::string_view name = in_.text();
      facts_.classes.push_back({name, in_.part_of(facts_.bases, [&] { return in_.text(); })});
    });
    in_.fill(facts_.calls, [&] { return call(); });
    in_.fill(facts_.imports, [&] {
      const std::string_view name = in_.text();
      return Import{name, in_.text()};
    });
    in_.list([&] { facts_.cuda_flags.push_back(in_.text()); });
    read_traits();
    return in_.ok() && in_.at_end();
  }

 private:
  Origins origins() {
    Origins origins;
    origins.elsewhere = in_.flag();
    origins.inputs =
        in_.part_of(facts_.inputs, [&] { return static_cast<std::uint16_t>(in_.number()); });
    origins.results = in_.part_of(facts_.results, [&] { return in_.callee(); });
    return origins;
  }

  Function function() {
    Function function;
    function.name = in_.text_number();
    function.parameters = in_.part_of(facts_.parameters, [&] { return in_.text_number(); });
    function.feeds = in_.flag();
    function.results = origins();
    function.type = static_cast<semantics::Type>(in_.number());
    function.device = static_cast<semantics::DeviceState>(in_.number());
    function.line = static_cast<std::uint32_t>(in_.number());
    function.traits = static_cast<std::uint8_t>(in_.number());
    return function;
  }

  Call call() {
    Call call;
    call.callee = in_.callee();
    call.caller = static_cast<std::uint16_t>(in_.number());
    const std::uint64_t flags = in_.number();
    call.guarded = (flags & 1U) != 0;
    call.unknown_arguments = (flags & 2U) != 0;
    call.surely = (flags & 4U) != 0;
    call.after = static_cast<std::uint32_t>(in_.number());
    call.positional = in_.part_of(facts_.arguments, [&] { return Argument{0, origins()}; });
    call.keywords = in_.part_of(facts_.arguments, [&] {
      const TextNumber keyword = in_.text_number();
      return Argument{keyword, origins()};
    });
    return call;
  }

  void read_traits() {
    FileTraits& traits = facts_.whole;
    traits.starts_cuda = in_.flag();
    traits.patches_moves = in_.flag();
    traits.scripts = in_.flag();
    in_.list([&] { traits.caught_imports.emplace_back(in_.text()); });
    in_.list([&] { traits.stars.emplace_back(in_.text()); });
    in_.list([&] {
      const std::string_view name = in_.text();
      traits.saved.push_back({std::string(name), in_.flag()});
    });
  }

  FileFacts& facts_;
  Reader in_;
};

// Puts the functions and imports in the order of their names.
void sort_names(FileFacts& facts) {
  const auto name_of = [&](std::uint32_t function) {
    return facts.text(facts.functions[function].name);
  };
  auto& functions = facts.functions_by_name;
  for (std::uint32_t i = 0; i < facts.functions.size(); ++i) functions.push_back(i);
  std::sort(functions.begin(), functions.end(), [&](std::uint32_t a, std::uint32_t b) {
    const int order = name_of(a).compare(name_of(b));
    return order == 0 ? a < b : order < 0;
  });
  std::uint32_t first = 0;
  for (const std::uint32_t function : functions) {
    if (function == functions.front() || name_of(function) != name_of(first)) first = function;
    facts.functions[function].same_as = first;
  }
  std::erase_if(functions, [&](std::uint32_t i) { return facts.functions[i].same_as != i; });
  auto& imports = facts.imports_by_name;
  for (std::uint32_t i = 0; i < facts.imports.size(); ++i) imports.push_back(i);
  std::sort(imports.begin(), imports.end(), [&](std::uint32_t a, std::uint32_t b) {
    const int order = facts.imports[a].name.compare(facts.imports[b].name);
    return order == 0 ? a < b : order < 0;
  });
}

// Whether a name comes before the one that two parts make.
bool is_before(std::string_view name, std::string_view front, std::string_view end) {
  const int order = name.compare(0, front.size(), front);
  return order == 0 ? name.substr(front.size()) < end : order < 0;
}

}  // namespace

std::optional<FileFacts> unpack_facts(std::string packed) {
  FileFacts facts;
  facts.packed = std::make_shared<const std::string>(std::move(packed));
  if (!Unpacker(facts).read()) return std::nullopt;
  sort_names(facts);
  return facts;
}

std::optional<std::uint32_t> FileFacts::function_named(std::string_view name,
                                                       std::string_view end) const {
  const auto name_of = [&](std::uint32_t function) { return text(functions[function].name); };
  const auto found = std::partition_point(
      functions_by_name.begin(), functions_by_name.end(),
      [&](std::uint32_t function) { return is_before(name_of(function), name, end); });
  if (found == functions_by_name.end()) return std::nullopt;
  const std::string_view there = name_of(*found);
  const bool same =
      there.size() == name.size() + end.size() && there.starts_with(name) && there.ends_with(end);
  return same ? std::optional(*found) : std::nullopt;
}

std::optional<std::string_view> FileFacts::imported(std::string_view name) const {
  const auto after =
      std::partition_point(imports_by_name.begin(), imports_by_name.end(),
                           [&](std::uint32_t import) { return imports[import].name <= name; });
  if (after == imports_by_name.begin()) return std::nullopt;
  const Import& last = imports[*std::prev(after)];
  return last.name == name ? std::optional(last.full) : std::nullopt;
}

}  // namespace torchport::flow
