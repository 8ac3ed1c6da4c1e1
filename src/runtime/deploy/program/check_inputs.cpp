#include "runtime/deploy/program/check_inputs.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>

namespace torchport::deploy {

namespace {

std::string text_of(const ProgramInput& input) {
  std::ostringstream text;
  text << c10::toString(input.dtype) << " [";
  for (std::size_t i = 0; i < input.sizes.size(); ++i) {
    const InputSize& size = input.sizes[i];
    text << (i == 0 ? "" : ", ");
    if (size.fixed)
      text << *size.fixed;
    else
      text << (size.symbol.empty() ? "?" : size.symbol);
  }
  text << "]";
  return text.str();
}

// torch's export takes sizes below 3 for special cases of its own, and checks no smaller bound
// (torch/_export/utils.py, _check_input_constraints_for_graph).
bool is_within(const SizeRange& range, std::int64_t size) {
  constexpr std::int64_t kSpecial = 2;
  if (range.least && *range.least > kSpecial && size < *range.least) return false;
  return !range.most || size <= *range.most;
}

// The sizes of the symbols, over all inputs of a call.
class Sizes {
 public:
  explicit Sizes(const ProgramGraph& program) : program_(program) {}

  bool fit(const InputSize& expected, std::int64_t size) {
    if (expected.fixed) return *expected.fixed == size;
    if (expected.symbol.empty()) return true;
    const auto range = program_.ranges.find(expected.symbol);
    if (range != program_.ranges.end() && !is_within(range->second, size)) return false;
    return seen_.try_emplace(expected.symbol, size).first->second == size;
  }

 private:
  const ProgramGraph& program_;
  std::map<std::string, std::int64_t> seen_;
};

bool fits(const ProgramInput& input, const at::Tensor& tensor, Sizes& sizes) {
  if (!tensor.defined() || tensor.scalar_type() != input.dtype ||
      tensor.dim() != static_cast<std::int64_t>(input.sizes.size()))
    return false;
  for (std::size_t i = 0; i < input.sizes.size(); ++i) {
    if (!sizes.fit(input.sizes[i], tensor.size(static_cast<std::int64_t>(i)))) return false;
  }
  return true;
}

}  // namespace

void check_inputs(const ProgramGraph& program, const std::vector<at::Tensor>& given) {
  const auto count = std::count_if(program.inputs.begin(), program.inputs.end(),
                                   [](const ProgramInput& input) { return input.is_tensor; });
  if (static_cast<std::size_t>(count) != given.size())
    throw std::invalid_argument(std::to_string(given.size()) + " inputs were given, " +
                                std::to_string(count) + " expected");
  Sizes sizes(program);
  std::size_t at = 0;
  for (const ProgramInput& input : program.inputs) {
    if (!input.is_tensor) continue;
    const at::Tensor& tensor = given[at++];
    if (!input.is_known || fits(input, tensor, sizes)) continue;
    std::ostringstream text;
    text << "input " << at - 1 << ": expected " << text_of(input) << ", got ";
    if (tensor.defined())
      text << c10::toString(tensor.scalar_type()) << " " << tensor.sizes();
    else
      text << "nothing";
    throw std::invalid_argument(text.str());
  }
}

}  // namespace torchport::deploy
