// Defines a function with one implementation per device kind. The device of a call's tensors
// selects the implementation.
//
//   torchport::Kernel<at::Tensor(const at::Tensor&, double)> contrast("contrast");
//   contrast.on(c10::DeviceType::CUDA, &contrast_cuda).fallback(&contrast_plain);
//   at::Tensor sharp = contrast(image, 0.5);
//
// It replaces chains of `if (x.is_cuda())`, which grow with each new device and whose last branch
// runs on devices that nobody tested. Use it for functions that are not operators. A function that
// autograd, torch.compile or Python should see belongs in TORCH_LIBRARY, whose dispatcher does this
// and more.
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

// The arguments of one call that determine its device.
struct KernelArguments {
  std::vector<std::pair<int, const at::Tensor*>> tensors;  // with the argument's position, from 0
  std::optional<c10::Device> asked;  // the argument that is a device, if there is one
  int number = 0;                    // the position of the argument that add() gets next

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
  void add(const Other& /*other*/) {}  // numbers and options do not determine a device
};

// The device kind that a call is for. CPU tensors without dimensions go with any device. Throws
// std::invalid_argument, which names the arguments, if tensors are on several kinds, and if there
// is neither a tensor nor a device. Thread safe.
[[nodiscard]] TORCHPORT_API c10::DeviceType kind_of(const std::string& name,
                                                    const KernelArguments& arguments);
// Throws c10::NotImplementedError, which says that `kind` has no implementation and lists the kinds
// that have one.
[[noreturn]] TORCHPORT_API void no_kernel(const std::string& name, c10::DeviceType kind,
                                          const std::vector<c10::DeviceType>& there);
// Throws std::invalid_argument, which says that `kind` got a second implementation or, if `kind` is
// none, that there is a second fallback.
[[noreturn]] TORCHPORT_API void second_kernel(const std::string& name,
                                              std::optional<c10::DeviceType> kind);

}  // namespace detail

template <class Signature>
class Kernel;

// Add all implementations before the first call: on() and fallback() are not thread safe, calls
// are.
template <class Result, class... Arguments>
class Kernel<Result(Arguments...)> final {
 public:
  using Function = std::function<Result(Arguments...)>;

  // `name` appears in error messages.
  explicit Kernel(std::string name) : name_(std::move(name)) {}

  // Sets the implementation for tensors on `kind`. Throws std::invalid_argument if there is one
  // already.
  Kernel& on(c10::DeviceType kind, Function function) {
    if (!implementations_.emplace(kind, std::move(function)).second)
      detail::second_kernel(name_, kind);
    return *this;
  }

  // Sets the implementation for all kinds that have none of their own. Throws std::invalid_argument
  // if there is one already.
  Kernel& fallback(Function function) {
    if (fallback_) detail::second_kernel(name_, std::nullopt);
    fallback_ = std::move(function);
    return *this;
  }

  // The function that a call with tensors on `kind` runs. Throws c10::NotImplementedError if there
  // is none.
  [[nodiscard]] const Function& implementation(c10::DeviceType kind) const {
    const auto found = implementations_.find(kind);
    if (found != implementations_.end()) return found->second;
    if (!fallback_) detail::no_kernel(name_, kind, kinds());
    return fallback_;
  }

  // The kinds that have an implementation of their own, in the order of c10::DeviceType.
  [[nodiscard]] std::vector<c10::DeviceType> kinds() const {
    std::vector<c10::DeviceType> all;
    all.reserve(implementations_.size());
    for (const auto& [kind, function] : implementations_) all.push_back(kind);
    return all;
  }

  // Runs the implementation for the device of the tensors among the arguments, including optional
  // tensors and lists of tensors. Without a tensor, an argument that is a c10::Device decides.
  // Throws as kind_of() and implementation() do, and whatever the implementation throws.
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
