// The bytes of facts: numbers of seven bits a byte, and each text once.
#include <unordered_map>

#include "source/flow/collected.h"

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

void write(Writer& out, const Sources& sources) {
  out.number(sources.elsewhere ? 1 : 0);
  out.list(sources.inputs, [&](std::uint16_t input) { out.number(input); });
  out.list(sources.results, [&](const Callee& callee) { out.text(callee); });
}

void write(Writer& out, const FileTraits& traits) {
  out.number(traits.starts_cuda ? 1 : 0);
  out.number(traits.patches_moves ? 1 : 0);
  out.number(traits.scripts ? 1 : 0);
  out.list(traits.caught_imports, [&](const std::string& name) { out.text(name); });
  out.list(traits.stars, [&](const std::string& name) { out.text(name); });
  out.list(traits.saved, [&](const SavedFile& file) {
    out.text(file.name);
    out.number(file.from_cpu ? 1 : 0);
  });
}

}  // namespace

std::string pack(const CollectedFacts& facts) {
  Writer out;
  out.number((facts.kernels ? 1U : 0U) | (facts.knows_prefix ? 2U : 0U) |
             (facts.sets_visible_devices ? 4U : 0U) | (facts.sets_after_imports ? 8U : 0U) |
             (facts.cuda_or_cpu.keeps ? 16U : 0U) | (facts.cuda_or_cpu.chooses ? 32U : 0U));
  out.list(facts.functions, [&](const CollectedFunction& function) {
    out.text(function.name);
    out.list(function.parameters, [&](const std::string& name) { out.text(name); });
    out.number(function.feeds ? 1 : 0);
    write(out, function.results);
    out.number(static_cast<std::uint64_t>(function.type));
    out.number(static_cast<std::uint64_t>(function.device));
    out.number(function.line);
    out.number(function.traits);
  });
  out.list(facts.classes, [&](const CollectedClass& known) {
    out.text(known.name);
    out.list(known.bases, [&](const std::string& base) { out.text(base); });
  });
  out.list(facts.calls, [&](const CollectedCall& call) {
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

}  // namespace torchport::flow
