#include "runtime/virtual/errors/device_texts.h"

#include <array>
#include <vector>

namespace torchport::vdev {

namespace {

struct DeviceText {
  std::string_view op;  // the beginning of the operator's name
  // "*" stands for any text, and "$" for that of each "*", in order. What follows the CPU's text
  // stays.
  std::string_view cpu;
  std::string_view cuda;
};

// Those of aten/src/ATen/native and aten/src/ATen/native/cuda.
constexpr auto kTexts = std::to_array<DeviceText>({
    {"aten::", "expected m1 and m2 to have the same dtype",
     "expected mat1 and mat2 to have the same dtype"},
    {"aten::_fft_", "MKL FFT doesn't support tensors of type",
     "cuFFT doesn't support tensor of type"},
    {"aten::_fft_r2c", "Only supports floating-point dtypes, but found: *",
     "Expected self.is_floating_point() to be true, but got false.  (Could this error message be "
     "improved?  If so, please report an enhancement request to PyTorch.)"},
    {"aten::max_unpool",
     "Expected shape of indices to be same as that of the input tensor (*) but got indices tensor "
     "with shape: *",
     "Expected shape of indices to be: $ but got: $"},
    {"aten::trace", "trace: expected a matrix, but got tensor with dim *", "expected a matrix"},
});

// The text that each "*" of a pattern stands for at the beginning of `text`, and what follows; none
// if it does not fit. The last "*" takes all if it ends the pattern.
bool matches(std::string_view text, std::string_view pattern,
             std::vector<std::string_view>& parts) {
  while (!pattern.empty()) {
    const auto star = pattern.find('*');
    const std::string_view fixed = pattern.substr(0, star);
    if (!text.starts_with(fixed)) return false;
    text.remove_prefix(fixed.size());
    if (star == std::string_view::npos) break;
    pattern.remove_prefix(star + 1);
    const std::string_view next = pattern.substr(0, pattern.find('*'));
    const auto end = next.empty() ? text.size() : text.find(next);
    if (end == std::string_view::npos) return false;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  parts.push_back(text);
  return true;
}

}  // namespace

std::string text_of_cuda(std::string_view text, std::string_view op) {
  for (const DeviceText& known : kTexts) {
    std::vector<std::string_view> parts;
    if (!op.starts_with(known.op) || !matches(text, known.cpu, parts)) continue;
    std::string result;
    auto part = parts.begin();
    for (const char letter : known.cuda) {
      if (letter == '$') {
        result += *part++;
      } else {
        result += letter;
      }
    }
    return result.append(parts.back());
  }
  return {};
}

}  // namespace torchport::vdev
