#include "cuda/ptx/translate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cuda/ptx/emit.h"
#include "cuda/ptx/instruction.h"

namespace torchport::cuda {

namespace {

using ptx::Item;
using ptx::ItemKind;

const ptx::Emit* emitter_of(std::string_view name) {
  static const std::map<std::string_view, ptx::Emit> kTable = [] {
    std::map<std::string_view, ptx::Emit> all;
    for (const auto* family : {&ptx::arithmetic_family(), &ptx::bits_family(),
                               &ptx::conversion_family(), &ptx::memory_family(),
                               &ptx::warp_family(), &ptx::matrix_family(), &ptx::barrier_family()})
      for (const ptx::Family& one : *family) all.emplace(one.name, one.emit);
    return all;
  }();
  const auto found = kTable.find(name);
  return found == kTable.end() ? nullptr : &found->second;
}

base::Result<std::string> instruction(const Item& item) {
  ptx::Reading reading(item);
  std::string code;
  if (const ptx::Emit* emit = emitter_of(item.words[0])) {
    code = (*emit)(reading);
    if (reading.error().empty() && !reading.left().empty())
      reading.refuse(
          fmt::format("has .{}, which virtual devices do not know", reading.left().front()));
  } else {
    reading.refuse();
  }
  if (!reading.error().empty()) return base::fail(base::ErrorCode::kSyntax, reading.error());
  if (item.guard.empty()) return code;
  return fmt::format("if ({}) {{ {} }}", item.guard, code);
}

std::string registers(const Item& item) {
  std::string result;
  for (const std::string& name : item.names) {
    if (item.name == "pred")
      result += fmt::format("bool {0} = false; (void){0}; ", name);
    else
      result +=
          fmt::format("{0}Raw<{1}> {2} = 0; (void){2}; ", ptx::kPtx, ptx::bits_of(item.name), name);
  }
  return result;
}

// How many bits the register of a constraint has; 0: a constraint of no register.
unsigned width(std::string_view constraint) {
  for (const char c : constraint) {
    if (c == 'h') return 16;
    if (c == 'r' || c == 'f') return 32;
    if (c == 'l' || c == 'd' || c == 'n' || c == 'i') return 64;
    if (c == 'q') return 128;
  }
  return 0;
}

// "0" as a constraint: the same register as an output.
std::optional<std::size_t> tied(std::string_view constraint, std::size_t outputs) {
  if (constraint.size() != 1 || constraint[0] < '0' || constraint[0] > '9') return std::nullopt;
  const auto index = static_cast<std::size_t>(constraint[0] - '0');
  return index < outputs ? std::optional(index) : std::nullopt;
}

base::Result<void> declare(const AsmStatement& statement, std::string& before, std::string& after) {
  std::size_t index = 0;
  for (const AsmOperand& one : statement.outputs) {
    const unsigned bits = width(one.constraint);
    if (bits == 0)
      return base::fail(base::ErrorCode::kSyntax,
                        fmt::format("the constraint \"{}\" is none of PTX", one.constraint));
    const bool reads = one.constraint.find('+') != std::string::npos;
    before += fmt::format("auto&& torchport_to_{0} = ({1}); {2}Raw<{3}> torchport_{0} = ", index,
                          one.expression, ptx::kPtx, bits);
    before += reads ? fmt::format("{}in<{}>(torchport_to_{}); ", ptx::kPtx, bits, index) : "0; ";
    after += fmt::format(" {0}out(torchport_to_{1}, torchport_{1});", ptx::kPtx, index);
    ++index;
  }
  for (const AsmOperand& one : statement.inputs) {
    if (const auto output = tied(one.constraint, statement.outputs.size())) {
      const unsigned bits = width(statement.outputs[*output].constraint);
      before += fmt::format(
          "torchport_{0} = {1}in<{2}>({3}); auto& torchport_{4} = torchport_{0}; "
          "(void)torchport_{4}; ",
          *output, ptx::kPtx, bits, one.expression, index++);
      continue;
    }
    const unsigned bits = width(one.constraint);
    if (bits == 0)
      return base::fail(base::ErrorCode::kSyntax,
                        fmt::format("the constraint \"{}\" is none of PTX", one.constraint));
    before +=
        fmt::format("const {1}Raw<{2}> torchport_{0} = {1}in<{2}>({3}); (void)torchport_{0}; ",
                    index, ptx::kPtx, bits, one.expression);
    ++index;
  }
  return {};
}

}  // namespace

base::Result<std::string> translate_asm(const AsmStatement& statement) {
  std::vector<std::string> names;
  for (const auto* list : {&statement.outputs, &statement.inputs})
    for (const AsmOperand& one : *list) names.push_back(one.name);
  auto items = ptx::parse(statement.text, names);
  if (!items) return tl::make_unexpected(items.error());

  std::string before = fmt::format("{}Sink torchport_none; (void)torchport_none; ", ptx::kPtx);
  std::string after;
  if (auto declared = declare(statement, before, after); !declared)
    return tl::make_unexpected(declared.error());
  const auto has = [&](auto matches) { return std::any_of(items->begin(), items->end(), matches); };
  if (has([](const Item& item) {
        return item.words.size() > 1 &&
               (std::find(item.words.begin(), item.words.end(), "cc") != item.words.end() ||
                item.words[0] == "addc" || item.words[0] == "subc" || item.words[0] == "madc");
      }))
    before += "bool torchport_carry = false; (void)torchport_carry; ";

  std::string body;
  bool labels = false;
  for (const Item& item : *items) {
    switch (item.kind) {
      case ItemKind::kOpen:
        body += "{ ";
        break;
      case ItemKind::kClose:
        body += "} ";
        break;
      case ItemKind::kRegisters:
        body += registers(item);
        break;
      case ItemKind::kLabel:
        labels = true;
        body += item.name + ": ; ";
        break;
      case ItemKind::kInstruction: {
        auto code = instruction(item);
        if (!code) return tl::make_unexpected(code.error());
        body += *code + " ";
        break;
      }
    }
  }
  // Labels belong to one function of C++, and this statement may be there twice.
  if (labels) return fmt::format("[&]() {{ {}{{ {}}}{} }}()", before, body, after);
  return fmt::format("do {{ {}{{ {}}}{} }} while (false)", before, body, after);
}

std::string refusing_statement(std::string_view why) {
  std::string text;
  for (const char c : why) {
    if (c == '"' || c == '\\') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return fmt::format("{}refuse(\"{}\", __builtin_FILE(), __builtin_LINE())", ptx::kPtx, text);
}

}  // namespace torchport::cuda
