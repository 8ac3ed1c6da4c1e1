// Finds the operators for which CUDA sources register kernels, in the sources' text. It is written
// by hand: GCC's std::regex recurses once per character, and a source may contain a picture in one
// string.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include "build_gate/extension_stub.h"

namespace torchport::build_gate {

namespace {

// The dispatch keys of a backend: "CUDA" itself, "AutogradCUDA", "QuantizedCUDA", "SparseCUDA".
bool is_key_of(std::string_view key, std::string_view backend) {
  constexpr std::array<std::string_view, 4> kParts{"", "Autograd", "Quantized", "Sparse"};
  return key.ends_with(backend) &&
         std::find(kParts.begin(), kParts.end(), key.substr(0, key.size() - backend.size())) !=
             kParts.end();
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Reads a text from a position on. Each function returns whether it found what it looked for.
class Cursor {
 public:
  Cursor(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  [[nodiscard]] std::size_t at() const { return at_; }

  bool take(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  // Blanks before and after it are skipped.
  bool punctuation(std::string_view expected) {
    blanks();
    const bool found = take(expected);
    blanks();
    return found;
  }
  // Empty if there is none.
  std::string_view word() {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(from, at_ - from);
  }

 private:
  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  std::string_view text_;
  std::size_t at_;
};

// The namespaces of TORCH_LIBRARY_IMPL(ns, CUDA, m).
void add_namespaces(std::string_view source, std::string_view backend,
                    std::set<std::string>& found) {
  constexpr std::string_view kMacro = "TORCH_LIBRARY_IMPL";
  for (std::size_t at = source.find(kMacro); at != std::string_view::npos;
       at = source.find(kMacro, at + 1)) {
    Cursor cursor(source, at + kMacro.size());
    if (!cursor.punctuation("(")) continue;
    const std::string_view space = cursor.word();
    if (space.empty() || !cursor.punctuation(",")) continue;
    const std::string_view key = cursor.word();
    if (is_key_of(key, backend) && cursor.punctuation(",")) found.emplace(space);
  }
}

// Reads "ns::name.overload" after its opening quote, and returns it without the namespace; empty
// for other text.
std::string_view operator_name(std::string_view source, Cursor& cursor) {
  std::size_t from = cursor.at();
  std::string_view first = cursor.word();
  if (!first.empty() && cursor.take("::")) {
    from = cursor.at();
    first = cursor.word();
  }
  if (first.empty() || std::isdigit(static_cast<unsigned char>(first.front())) != 0) return {};
  if (cursor.take(".") && cursor.word().empty()) return {};
  const std::size_t end = cursor.at();
  return cursor.take("\"") ? source.substr(from, end - from) : std::string_view();
}

// Adds the string literals that look like an operator's name.
void add_names(std::string_view source, std::set<std::string>& found) {
  for (std::size_t at = source.find('"'); at != std::string_view::npos;) {
    Cursor cursor(source, at + 1);
    const std::string_view name = operator_name(source, cursor);
    if (!name.empty()) found.emplace(name);
    at = source.find('"', name.empty() ? at + 1 : cursor.at());
  }
}

}  // namespace

CudaOperators cuda_operators(const std::vector<std::string>& sources) {
  std::set<std::string> namespaces;
  std::set<std::string> names;
  std::set<std::string> of_xpu;
  for (const std::string& source : sources) {
    add_namespaces(source, "CUDA", namespaces);
    add_namespaces(source, "XPU", of_xpu);
  }
  if (!namespaces.empty() || !of_xpu.empty())
    for (const std::string& source : sources) add_names(source, names);
  return {{namespaces.begin(), namespaces.end()},
          {of_xpu.begin(), of_xpu.end()},
          {names.begin(), names.end()}};
}

}  // namespace torchport::build_gate
