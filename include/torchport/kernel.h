// One function with an implementation per kind of device, chosen by where its tensors are.
//
//   torchport::Kernel<at::Tensor(const at::Tensor&, double)> contrast("contrast");
//   contrast.on(c10::DeviceType::CUDA, &contrast_cuda).fallback(&contrast_plain);
//   at::Tensor sharp = contrast(image, 0.5);
//
// For functions that are no operators. One that autograd, torch.compile or Python should see is
// registered with TORCH_LIBRARY, whose dispatcher does this and more.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torchport/export.h>

namespace torchport {

namespace detail {

// What a call was given that says where it computes.
struct KernelArguments {
  std::vector<std::pair<int, const at::Tensor*>> tensors;  // with the argument's number
  std::optional<c10::Device> asked;                        // an argument that is a device itself
  int number = 0;                                          // of the argument that is looked at

  void add(const at::Tensor& tensor) {
    if (tensor.defined()) tensors.emplace_back(number, &tensor);
  }
  void add(const std::optional<at::Tensor>& tensor) {
    if (tensor) add(*tensor);
  }
  void add(at::ArrayRef<at::Tensor> list) {
    for (const at::Tensor& tensor : list) add(tensor);
  }
  void add(const std::vector<at::Tensor>& list) { add(at::ArrayRef<at::Tensor>(list)); }
  void add(c10::Device device) { asked = device; }
  template <class Other>
  void add(const Other& /*other*/) {}  // numbers, options: they say nothing of a place
};

// The kind of device that a call is for. CPU scalars go with any device. Throws
// std::invalid_argument, which names the arguments, where tensors are on several kinds, and where
// there is neither a tensor nor a device.
[[nodiscard]] TORCHPORT_API c10::DeviceType kind_of(const std::string& name,
                                                    const KernelArguments& arguments);
// Throws c10::NotImplementedError: no implementation for `kind`, and what there is.
[[noreturn]] TORCHPORT_API void no_kernel(const std::string& name, c10::DeviceType kind,
                                          const std::vector<c10::DeviceType>& there);
// Throws std::invalid_argument: a second one for a kind, or, without a kind, a second fallback.
[[noreturn]] TORCHPORT_API void second_kernel(const std::string& name,
                                              std::optional<c10::DeviceType> kind);

}  // namespace detail

template <class Signature>
class Kernel;

// Implementations are added while it is built; calls are thread safe from then on.
template <class Result, class... Arguments>
class Kernel<Result(Arguments...)> final {
 public:
  using Function = std::function<Result(Arguments...)>;

  // `name` is for messages.
  explicit Kernel(std::string name) : name_(std::move(name)) {}

  // The implementation for tensors on `kind`. Throws std::invalid_argument where there is one.
  Kernel& on(c10::DeviceType kind, Function function) {
    if (!implementations_.emplace(kind, std::move(function)).second)
      detail::second_kernel(name_, kind);
    return *this;
  }

  // The implementation for all kinds that have none. Throws std::invalid_argument where there is
  // one.
  Kernel& fallback(Function function) {
    if (fallback_) detail::second_kernel(name_, std::nullopt);
    fallback_ = std::move(function);
    return *this;
  }

  // What a call with tensors on `kind` runs. Throws c10::NotImplementedError where there is
  // nothing.
  [[nodiscard]] const Function& implementation(c10::DeviceType kind) const {
    const auto found = implementations_.find(kind);
    if (found != implementations_.end()) return found->second;
    if (!fallback_) detail::no_kernel(name_, kind, kinds());
    return fallback_;
  }

  // Kinds with an implementation of their own.
  [[nodiscard]] std::vector<c10::DeviceType> kinds() const {
    std::vector<c10::DeviceType> all;
    all.reserve(implementations_.size());
    for (const auto& [kind, function] : implementations_) all.push_back(kind);
    return all;
  }

  // Runs the implementation for the device of the tensors among the arguments (also optional ones
  // and lists); without a tensor, of a c10::Device among them. Throws as kind_of and
  // implementation.
  Result operator()(Arguments... arguments) const {
    detail::KernelArguments seen;
    ((seen.add(arguments), ++seen.number), ...);
    return implementation(detail::kind_of(name_, seen))(std::forward<Arguments>(arguments)...);
  }

 private:
  std::string name_;
  std::map<c10::DeviceType, Function> implementations_;
  Function fallback_;
};

}  // namespace torchport
