#include "runtime/virtual/errors/device_texts.h"

#include <array>
#include <regex>
#include <string>
#include <vector>

namespace torchport::vdev {

namespace {

struct DeviceText {
  std::string_view op;  // the beginning of the operator's name
  // "*" stands for any text, "$" for that of each "*", in order, and "$2" for that of the second.
  // What follows the CPU's text stays.
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
    {"aten::_fft_", "MKL FFT error: Intel oneMKL DFTI ERROR: Inconsistent configuration parameters",
     "cuFFT error: CUFFT_INVALID_SIZE"},
    {"aten::_ctc_loss", "*(while checking arguments for ctc_loss_allocate_outputs)",
     "$(while checking arguments for ctc_loss_gpu)"},
    {"aten::_embedding_bag", "*(while checking arguments for embedding_bag)",
     "$(while checking arguments for embedding_bag_cuda)"},
    {"aten::linalg_cross", "expected scalar type * but found *", "Found dtype $2 but expected $1"},
    {"aten::masked_scatter",
     "masked_scatter: expected self and source to have same dtypes but got* and *",
     "masked_scatter_: expected self and source to have same dtypes but got $ and $"},
    {"aten::max_unpool2d",
     "Input to max_unpooling2d should be a 3d or 4d Tensor, but got a tensor with * dimensions.",
     "Input to max_unpooling2d should be a 3d or 4d Tensor, but got tensor with dimension: $"},
    {"aten::max_unpool3d",
     "Input to max_unpooling3d should be a 4d or 5d Tensor, but got a tensor with * dimensions.",
     "Input to max_unpooling3d should be a 4d or 5d Tensor, but got a tensor with dim $"},
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

// The names of types and of backends say which device a tensor is on.
std::string with_types_of_cuda(const std::string& text) {
  static const std::regex kLegacyType(R"(\btorch\.((?:sparse\.)?[A-Z]\w*Tensor)\b)");
  static const std::regex kType(R"(\bCPU([A-Z]\w*Type)\b)");
  static const std::regex kBackend("with arguments from the '(|Sparse|SparseCsr)CPU' backend");
  std::string changed = std::regex_replace(text, kLegacyType, "torch.cuda.$1");
  changed = std::regex_replace(changed, kType, "CUDA$1");
  return std::regex_replace(changed, kBackend, "with arguments from the '$1CUDA' backend");
}

}  // namespace

std::string text_of_cuda(const std::string& host, std::string_view op) {
  const std::string text = with_types_of_cuda(host);
  for (const DeviceText& known : kTexts) {
    std::vector<std::string_view> parts;
    if (!op.starts_with(known.op) || !matches(text, known.cpu, parts)) continue;
    std::string result;
    std::size_t part = 0;
    for (std::size_t i = 0; i < known.cuda.size(); ++i) {
      if (known.cuda[i] != '$') {
        result += known.cuda[i];
        continue;
      }
      const bool is_numbered =
          i + 1 < known.cuda.size() && known.cuda[i + 1] >= '1' && known.cuda[i + 1] <= '9';
      if (is_numbered) part = static_cast<std::size_t>(known.cuda[++i] - '1');
      result += parts.at(part++);
    }
    return result.append(parts.back());
  }
  return text == host ? std::string() : text;
}

}  // namespace torchport::vdev
