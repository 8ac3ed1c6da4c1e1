// The bytes of facts: numbers of seven bits a byte, and each text once.
#include <unordered_map>

#include "source/flow/facts.h"

namespace torchport::flow {

namespace {

class Writer {
 public:
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) body_.push_back(static_cast<char>(value | 0x80U));
    body_.push_back(static_cast<char>(value));
  }

  void text(const std::string& value) {
    const auto [entry, fresh] = numbers_.try_emplace(value, texts_.size());
    if (fresh) texts_.push_back(&entry->first);
    number(entry->second);
  }

  template <class List, class Write>
  void list(const List& items, const Write& write) {
    number(items.size());
    for (const auto& item : items) write(item);
  }

  // The texts, and then what refers to them.
  [[nodiscard]] std::string finish() {
    const std::string body = std::exchange(body_, {});
    number(texts_.size());
    for (const std::string* text : texts_) {
      number(text->size());
      body_ += *text;
    }
    return std::move(body_) + body;
  }

 private:
  std::string body_;
  std::unordered_map<std::string, std::uint64_t> numbers_;
  std::vector<const std::string*> texts_;
};

// Reads what a Writer wrote. After any other byte sequence ok() is false, and nothing is read
// beyond the end.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {
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

  std::string text() {
    const std::uint64_t index = number();
    if (index >= texts_.size()) {
      fail();
      return {};
    }
    return std::string(texts_[index]);
  }

  template <class Read>
  void list(const Read& read) {
    // Each item has at least one byte, so a wrong number ends with the bytes.
    for (std::uint64_t left = number(); left > 0 && ok_; --left) read();
  }

 private:
  void fail() {
    ok_ = false;
    bytes_ = {};
  }

  std::string_view bytes_;
  std::vector<std::string_view> texts_;
  bool ok_ = true;
};

void write(Writer& out, const Sources& sources) {
  out.number(sources.elsewhere ? 1 : 0);
  out.list(sources.inputs, [&](std::uint16_t input) { out.number(input); });
  out.list(sources.results, [&](const Callee& callee) { out.text(callee); });
}

void write(Writer& out, const FileTraits& traits) {
  out.number(traits.starts_cuda ? 1 : 0);
  out.list(traits.caught_imports, [&](const std::string& name) { out.text(name); });
  out.list(traits.saved, [&](const SavedFile& file) {
    out.text(file.name);
    out.number(file.from_cpu ? 1 : 0);
  });
}

FileTraits read_file_traits(Reader& in) {
  FileTraits traits;
  traits.starts_cuda = in.number() != 0;
  in.list([&] { traits.caught_imports.push_back(in.text()); });
  in.list([&] {
    std::string name = in.text();
    traits.saved.push_back({std::move(name), in.number() != 0});
  });
  return traits;
}

Sources read_sources(Reader& in) {
  Sources sources;
  sources.elsewhere = in.number() != 0;
  in.list([&] { sources.inputs.push_back(static_cast<std::uint16_t>(in.number())); });
  in.list([&] { sources.results.push_back(in.text()); });
  return sources;
}

}  // namespace

std::string pack_facts(const FileFacts& facts) {
  Writer out;
  out.number((facts.kernels ? 1U : 0U) | (facts.drops_prefix ? 2U : 0U) |
             (facts.sets_visible_devices ? 4U : 0U));
  out.list(facts.functions, [&](const Function& function) {
    out.text(function.name);
    out.list(function.parameters, [&](const std::string& name) { out.text(name); });
    out.number(function.feeds ? 1 : 0);
    write(out, function.results);
    out.number(static_cast<std::uint64_t>(function.type));
    out.number(static_cast<std::uint64_t>(function.device));
    out.number(function.line);
    out.number(function.traits);
  });
  out.list(facts.classes, [&](const Class& known) {
    out.text(known.name);
    out.list(known.bases, [&](const std::string& base) { out.text(base); });
  });
  out.list(facts.calls, [&](const Call& call) {
    out.text(call.callee);
    out.number(call.caller);
    out.number((call.guarded ? 1U : 0U) | (call.unknown_arguments ? 2U : 0U) |
               (call.surely ? 4U : 0U));
    out.number(call.after);
    out.list(call.positional, [&](const Sources& sources) { write(out, sources); });
    out.list(call.keywords, [&](const auto& keyword) {
      out.text(keyword.first);
      write(out, keyword.second);
    });
  });
  out.list(facts.imports, [&](const auto& import) {
    out.text(import.first);
    out.text(import.second);
  });
  out.list(facts.cuda_flags, [&](const std::string& flag) { out.text(flag); });
  write(out, facts.whole);
  return out.finish();
}

bool unpack_facts(std::string_view packed, FileFacts& facts) {
  facts = {};
  Reader in(packed);
  const std::uint64_t of_file = in.number();
  facts.kernels = (of_file & 1U) != 0;
  facts.drops_prefix = (of_file & 2U) != 0;
  facts.sets_visible_devices = (of_file & 4U) != 0;
  in.list([&] {
    Function function;
    function.name = in.text();
    in.list([&] { function.parameters.push_back(in.text()); });
    function.feeds = in.number() != 0;
    function.results = read_sources(in);
    function.type = static_cast<semantics::Type>(in.number());
    function.device = static_cast<semantics::DeviceState>(in.number());
    function.line = static_cast<std::uint32_t>(in.number());
    function.traits = static_cast<std::uint8_t>(in.number());
    facts.functions.push_back(std::move(function));
  });
  in.list([&] {
    Class known;
    known.name = in.text();
    in.list([&] { known.bases.push_back(in.text()); });
    facts.classes.push_back(std::move(known));
  });
  in.list([&] {
    Call call;
    call.callee = in.text();
    call.caller = static_cast<std::uint16_t>(in.number());
    const std::uint64_t flags = in.number();
    call.guarded = (flags & 1U) != 0;
    call.unknown_arguments = (flags & 2U) != 0;
    call.surely = (flags & 4U) != 0;
    call.after = static_cast<std::uint32_t>(in.number());
    in.list([&] { call.positional.push_back(read_sources(in)); });
    in.list([&] {
      std::string keyword = in.text();
      call.keywords.emplace_back(std::move(keyword), read_sources(in));
    });
    facts.calls.push_back(std::move(call));
  });
  in.list([&] {
    std::string name = in.text();
    facts.imports.emplace_back(std::move(name), in.text());
  });
  in.list([&] { facts.cuda_flags.push_back(in.text()); });
  facts.whole = read_file_traits(in);
  const bool sound = in.ok() && in.at_end();
  if (!sound) facts = {};
  return sound;
}

}  // namespace torchport::flow
