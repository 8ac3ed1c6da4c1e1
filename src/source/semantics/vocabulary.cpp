#include <algorithm>
#include <array>
#include <string_view>

#include "devices/device_kind.h"
#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

namespace {

template <std::size_t kSize>
bool one_of_sorted(const std::array<std::string_view, kSize>& sorted, std::string_view word) {
  return std::binary_search(sorted.begin(), sorted.end(), word);
}

template <std::size_t kSize>
constexpr std::array<std::string_view, kSize> sorted(std::array<std::string_view, kSize> words) {
  std::sort(words.begin(), words.end());
  return words;
}

// Functions of the namespace torch whose `device=` decides where the result is created.
constexpr auto kFactories = sorted(std::to_array<std::string_view>({"arange",
                                                                    "as_tensor",
                                                                    "bartlett_window",
                                                                    "blackman_window",
                                                                    "empty",
                                                                    "empty_strided",
                                                                    "eye",
                                                                    "full",
                                                                    "hamming_window",
                                                                    "hann_window",
                                                                    "kaiser_window",
                                                                    "linspace",
                                                                    "logspace",
                                                                    "normal",
                                                                    "ones",
                                                                    "rand",
                                                                    "randint",
                                                                    "randn",
                                                                    "randperm",
                                                                    "range",
                                                                    "scalar_tensor",
                                                                    "sparse_coo_tensor",
                                                                    "sparse_csr_tensor",
                                                                    "tensor",
                                                                    "tril_indices",
                                                                    "triu_indices",
                                                                    "zeros"}));

constexpr auto kKeepers = sorted(std::to_array<std::string_view>({"abs",
                                                                  "add",
                                                                  "addmm",
                                                                  "argmax",
                                                                  "argmin",
                                                                  "argsort",
                                                                  "bfloat16",
                                                                  "bmm",
                                                                  "bool",
                                                                  "byte",
                                                                  "ceil",
                                                                  "chunk",
                                                                  "clamp",
                                                                  "clone",
                                                                  "contiguous",
                                                                  "cos",
                                                                  "cosh",
                                                                  "cumsum",
                                                                  "detach",
                                                                  "div",
                                                                  "double",
                                                                  "eq",
                                                                  "exp",
                                                                  "expand",
                                                                  "expand_as",
                                                                  "flatten",
                                                                  "flip",
                                                                  "float",
                                                                  "floor",
                                                                  "gather",
                                                                  "ge",
                                                                  "gt",
                                                                  "half",
                                                                  "index_select",
                                                                  "int",
                                                                  "le",
                                                                  "log",
                                                                  "log_softmax",
                                                                  "long",
                                                                  "lt",
                                                                  "masked_fill",
                                                                  "matmul",
                                                                  "max",
                                                                  "mean",
                                                                  "min",
                                                                  "mm",
                                                                  "mul",
                                                                  "ne",
                                                                  "neg",
                                                                  "new_empty",
                                                                  "new_full",
                                                                  "new_ones",
                                                                  "new_tensor",
                                                                  "new_zeros",
                                                                  "norm",
                                                                  "permute",
                                                                  "pow",
                                                                  "relu",
                                                                  "repeat",
                                                                  "reshape",
                                                                  "requires_grad_",
                                                                  "round",
                                                                  "rsqrt",
                                                                  "scatter",
                                                                  "scatter_",
                                                                  "short",
                                                                  "sigmoid",
                                                                  "sin",
                                                                  "softmax",
                                                                  "sort",
                                                                  "split",
                                                                  "sqrt",
                                                                  "squeeze",
                                                                  "std",
                                                                  "sub",
                                                                  "sum",
                                                                  "t",
                                                                  "tanh",
                                                                  "topk",
                                                                  "transpose",
                                                                  "unfold",
                                                                  "unsqueeze",
                                                                  "var",
                                                                  "view",
                                                                  "view_as",
                                                                  "zero_"}));

constexpr auto kModuleBases = sorted(std::to_array<std::string_view>(
    {"torch.nn.Module", "torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict",
     "torch.jit.ScriptModule", "pytorch_lightning.LightningModule", "lightning.LightningModule",
     "lightning.pytorch.LightningModule", "transformers.PreTrainedModel",
     "transformers.modeling_utils.PreTrainedModel"}));

}  // namespace

bool is_factory(std::string_view qualified) {
  if (!qualified.starts_with("torch.")) return false;
  return one_of_sorted(kFactories, qualified.substr(6));
}

bool keeps_device(std::string_view method) {
  return one_of_sorted(kKeepers, method);
}

bool is_module_base(std::string_view qualified) {
  if (one_of_sorted(kModuleBases, qualified)) return true;
  // Any layer or loss class of torch.nn is a module; functions there have lower-case names.
  return qualified.starts_with("torch.nn.") && qualified.find('.', 9) == std::string_view::npos &&
         qualified.size() > 9 && qualified[9] >= 'A' && qualified[9] <= 'Z' &&
         qualified != "torch.nn.Parameter";
}

bool is_cuda_string(std::string_view text) {
  if (text == "cuda") return true;
  if (!text.starts_with("cuda:")) return false;
  const std::string_view index = text.substr(5);
  return !index.empty() &&
         std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_device_string(std::string_view text) {
  const std::string_view kind = text.substr(0, text.find(':'));
  return devices::is_device_type(kind);
}

}  // namespace torchport::semantics
