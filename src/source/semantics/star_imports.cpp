#include "source/semantics/star_imports.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

namespace {

// The names of torch 2.13 that rules ask about, by the module whose star brings them. A star of
// torch brings no `cuda` and no `nn`, that of torch.nn also its modules.
constexpr auto kOfTorch = std::to_array<std::string_view>({"load",
                                                           "save",
                                                           "device",
                                                           "no_grad",
                                                           "enable_grad",
                                                           "autocast",
                                                           "inference_mode",
                                                           "set_grad_enabled",
                                                           "from_numpy",
                                                           "Generator",
                                                           "GradScaler",
                                                           "is_tensor",
                                                           "cat",
                                                           "stack",
                                                           "compile",
                                                           "manual_seed",
                                                           "float64",
                                                           "double",
                                                           "set_default_tensor_type",
                                                           "set_default_device",
                                                           "get_default_device",
                                                           "zeros_like",
                                                           "ones_like",
                                                           "rand_like",
                                                           "randn_like",
                                                           "full_like",
                                                           "empty_like"});
constexpr auto kOfNn = std::to_array<std::string_view>(
    {"functional", "init", "parallel", "utils", "Parameter"});  // and all that is_module_base()
constexpr auto kOfOptim = std::to_array<std::string_view>(
    {"Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "LBFGS",
     "ASGD", "Rprop", "lr_scheduler"});
constexpr auto kOfData =
    std::to_array<std::string_view>({"DataLoader", "Dataset", "TensorDataset", "IterableDataset",
                                     "Subset", "random_split", "DistributedSampler", "Sampler"});
constexpr auto kOfCuda = std::to_array<std::string_view>(
    {"is_available", "device_count", "current_device", "set_device", "synchronize", "empty_cache",
     "get_device_name", "Event", "Stream", "FloatTensor", "LongTensor", "HalfTensor",
     "DoubleTensor", "ByteTensor", "IntTensor", "BoolTensor"});

// The names of modules that the star of a file of the project brings with what that file imports.
constexpr auto kUsual =
    std::to_array<std::pair<std::string_view, std::string_view>>({{"torch", "torch"},
                                                                  {"nn", "torch.nn"},
                                                                  {"F", "torch.nn.functional"},
                                                                  {"optim", "torch.optim"},
                                                                  {"np", "numpy"}});

bool has_name(std::string_view module, std::string_view name) {
  const std::string full = std::string(module) + "." + std::string(name);
  if (is_factory(full) || is_module_base(full)) return true;
  if (module == "torch") return base::one_of(kOfTorch, name) || name.ends_with("Tensor");
  if (module == "torch.nn" || module == "torch.nn.modules") return base::one_of(kOfNn, name);
  if (module == "torch.optim") return base::one_of(kOfOptim, name);
  if (module == "torch.utils.data") return base::one_of(kOfData, name);
  if (module == "torch.autograd") return name == "Variable" || name == "no_grad";
  if (module == "torch.cuda") return base::one_of(kOfCuda, name);
  return false;
}

// Whether another module of a program hardly has something else with this name.
bool is_rare(std::string_view module, std::string_view name) {
  const std::string full = std::string(module) + "." + std::string(name);
  return is_factory(full) || is_module_base(full) || name.ends_with("Tensor") ||
         (module != "torch" && module != "torch.cuda" && name.front() >= 'A' &&
          name.front() <= 'Z');
}

}  // namespace

std::string name_by_star(const std::vector<std::string>& modules, std::string_view name) {
  bool unknown = false;
  for (auto module = modules.rbegin(); module != modules.rend(); ++module) {
    if (has_name(*module, name) && (!unknown || is_rare(*module, name)))
      return *module + "." + std::string(name);
    unknown |= !module->starts_with("torch.") && *module != "torch";
  }
  if (!unknown) return {};
  const auto* known = std::find_if(kUsual.begin(), kUsual.end(),
                                   [&](const auto& usual) { return usual.first == name; });
  return known == kUsual.end() ? std::string() : std::string(known->second);
}

}  // namespace torchport::semantics
