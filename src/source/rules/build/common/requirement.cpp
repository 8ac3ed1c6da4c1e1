#include "source/rules/build/common/requirement.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "versions/requirement.h"

namespace torchport::rules {

namespace {

struct Package {
  std::string_view name;     // normalised: lower case, "-"
  std::string_view instead;  // what other machines use
};

// Packages that are only useful, or can only be installed, with CUDA.
constexpr std::array<Package, 19> kPackages{{
    {"flash-attn", "torch.nn.functional.scaled_dot_product_attention"},
    {"xformers", "torch.nn.functional.scaled_dot_product_attention"},
    {"bitsandbytes", "the optimizers of torch.optim"},
    {"triton", "torch operations behind a branch"},
    {"apex", "torch.amp and torch.nn.parallel"},
    {"nvidia-apex", "torch.amp and torch.nn.parallel"},
    {"cupy", "NumPy, or torch itself"},
    {"pycuda", "torch operations"},
    {"tensorrt", "onnxruntime, or torch.compile"},
    {"torch-tensorrt", "onnxruntime, or torch.compile"},
    {"torch2trt", "onnxruntime, or torch.compile"},
    {"onnxruntime-gpu", "onnxruntime"},
    {"faiss-gpu", "faiss-cpu"},
    {"dgl-cuda", "dgl"},
    {"mamba-ssm", "a scan in plain torch"},
    {"causal-conv1d", "torch.nn.Conv1d"},
    {"transformer-engine", "torch.nn"},
    {"deepspeed-kernels", "torch operations"},
    {"cuml", "scikit-learn"},
}};

// The length of "cu" and digits at the start; 0 for anything else.
std::size_t cuda_tag(std::string_view text) {
  if (!text.starts_with("cu")) return 0;
  std::size_t end = 2;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end >= 4 && end <= 5 ? end : 0;
}

// Whether a package's name ends in "-cu12", "-cuda11x", "-cuda101" or the like.
bool has_cuda_suffix(std::string_view name) {
  const auto dash = name.rfind("-cu");
  if (dash == std::string_view::npos) return false;
  std::string_view rest = name.substr(dash + 3);
  if (rest.starts_with("da")) rest.remove_prefix(2);
  if (rest.ends_with('x')) rest.remove_suffix(1);
  return !rest.empty() &&
         std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Pin display(std::string_view text, std::string message, std::string title) {
  Pin pin;
  pin.span = {0, static_cast<std::uint32_t>(text.size())};
  pin.message = std::move(message);
  pin.fix.title = std::move(title);
  return pin;
}

// The pin in "torch==1.6.0+cu101".
std::optional<Pin> local_version(std::string_view requirement) {
  const auto plus = requirement.find("+cu");
  if (plus == std::string_view::npos ||
      requirement.substr(0, plus).find("==") == std::string_view::npos)
    return {};
  const std::size_t size = cuda_tag(requirement.substr(plus + 1));
  if (size == 0) return {};
  const std::size_t end = plus + 1 + size;
  Pin pin;
  pin.span = {0, static_cast<std::uint32_t>(end)};
  pin.message = fmt::format(
      "`{}` exists only as a CUDA build for some platforms; elsewhere pip finds no version.",
      requirement.substr(0, end));
  pin.fix.applicability = Applicability::kUnsafe;
  pin.fix.title = fmt::format("pin `{}` and let the index decide which build it is",
                              requirement.substr(0, plus));
  pin.fix.edits = {{{static_cast<std::uint32_t>(plus), static_cast<std::uint32_t>(end)}, ""}};
  return pin;
}

// The pin in a direct URL:
//   torch @ https://download.pytorch.org/whl/cu118/torch-2.0.0%2Bcu118-cp310-linux_x86_64.whl
std::optional<Pin> wheel_address(std::string_view requirement) {
  const auto address = requirement.find("https://");
  if (address == std::string_view::npos ||
      requirement.find(".whl", address) == std::string_view::npos)
    return {};
  for (std::size_t at = requirement.find("cu", address); at != std::string_view::npos;
       at = requirement.find("cu", at + 1)) {
    const char before = requirement[at - 1];
    if (cuda_tag(requirement.substr(at)) == 0 ||
        (base::is_identifier_char(before) && before != 'B'))  // %2Bcu118
      continue;
    return display(base::trim(requirement),
                   "This wheel is a CUDA build for one platform; pip refuses it on any other.",
                   "name the version instead, and let the index decide which build it is");
  }
  return {};
}

}  // namespace

std::optional<Pin> pin_of_requirement(std::string_view requirement) {
  if (auto pin = wheel_address(requirement)) return pin;
  if (auto pin = local_version(requirement)) return pin;
  const std::string_view written = versions::written_name(requirement);
  const std::string name = versions::normalised_name(written);
  if (name.empty() || requirement.find(';') != std::string_view::npos) return {};
  if (has_cuda_suffix(name)) {
    return display(
        written,
        fmt::format(
            "`{}` is made for one CUDA release; without CUDA it does not install or is useless.",
            written),
        "move it into an optional extra (`gpu`), and import it only there");
  }
  for (const Package& package : kPackages) {
    if (package.name != name) continue;
    return display(written,
                   fmt::format("`{}` is made for NVIDIA GPUs: elsewhere it does not install, or "
                               "its kernels do not run.",
                               written),
                   fmt::format("move it into an optional extra (`gpu`); other machines use {}",
                               package.instead));
  }
  return {};
}

std::optional<Pin> pin_of_conda(std::string_view requirement) {
  const auto colons = requirement.find("::");
  const std::size_t skip = colons == std::string_view::npos ? 0 : colons + 2;
  const std::string_view bare = requirement.substr(skip);
  const std::string name = versions::normalised_name(versions::written_name(bare));
  for (const std::string_view word :
       {"cudatoolkit", "cudatoolkit-dev", "pytorch-cuda", "cudnn", "cuda-toolkit", "pytorch-gpu",
        "faiss-gpu", "cupy", "cuda-nvcc", "tensorrt", "cuda"}) {
    if (name != word) continue;
    return display(requirement,
                   fmt::format("`{}` exists for NVIDIA GPUs only: without one this environment "
                               "cannot be created, or has gigabytes that are never used.",
                               requirement),
                   "keep it in an environment file of its own, or use `cpuonly` on other machines");
  }
  const auto build = bare.rfind('=');
  if ((name == "pytorch" || name == "torchvision" || name == "torchaudio") &&
      build != std::string_view::npos && bare.substr(build).find("cu") != std::string_view::npos) {
    return display(
        requirement,
        fmt::format("The build of `{}` is a CUDA build; conda finds no such build elsewhere.",
                    requirement),
        "leave out the build and let conda choose");
  }
  return {};
}

std::optional<Pin> pin_of_index(std::string_view text) {
  for (std::size_t at = text.find("/whl/"); at != std::string_view::npos;
       at = text.find("/whl/", at + 1)) {
    std::size_t tag = at + 5;
    if (text.substr(tag).starts_with("nightly/")) tag += 8;
    if (text.substr(tag).starts_with("test/")) tag += 5;
    const std::size_t size = cuda_tag(text.substr(tag));
    if (size == 0) continue;
    std::size_t start = text.rfind("http", at);
    if (start == std::string_view::npos) start = at;
    std::size_t end = tag + size;
    if (text.substr(end).starts_with("/torch_stable.html")) end += 18;
    if (end < text.size() && text[end] == '/' && text.find(".whl", end) != std::string_view::npos)
      continue;
    Pin pin = display(text.substr(start, end - start),
                      "This index has builds for one CUDA release; machines without CUDA get that "
                      "build or no build.",
                      "let the person who installs name the index (`pip install --extra-index-url "
                      "...`), or write one file for each variant");
    pin.span = {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(end)};
    return pin;
  }
  return {};
}

void report_pin(Reporter& reporter, Pin pin, std::uint32_t offset) {
  Finding& finding =
      reporter.report({pin.span.start + offset, pin.span.end + offset}, std::move(pin.message));
  for (Edit& edit : pin.fix.edits) edit.span = {edit.span.start + offset, edit.span.end + offset};
  finding.fix.push_back(std::move(pin.fix));
}

bool is_cuda_variant(std::string_view path) {
  const std::string text = base::lower(path);
  const auto slash = text.rfind('/');
  // The names of the file and of its folder.
  const auto folder =
      slash == std::string::npos || slash == 0 ? std::string::npos : text.rfind('/', slash - 1);
  const std::string tail = folder == std::string::npos ? text : text.substr(folder + 1);
  for (const std::string_view word :
       {"cuda", "gpu", "nvidia", "tensorrt", "triton", "cu1", "xformers", "deepspeed"}) {
    if (tail.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace torchport::rules
