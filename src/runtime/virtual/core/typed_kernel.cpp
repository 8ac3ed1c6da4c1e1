#include "runtime/virtual/core/typed_kernel.h"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/ivalue.h>
#include <c10/core/SymIntArrayRef.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/blas_workspaces.h"
#include "runtime/virtual/errors/kernel_names.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using OptionalTensor = std::optional<Tensor>;

// An argument as a value that owns no tensor.
IValue borrowed(const Tensor& tensor) {
  return Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(
      tensor.unsafeGetTensorImpl()));
}
IValue borrowed(const OptionalTensor& tensor) {
  return tensor ? borrowed(*tensor) : IValue();
}
template <typename T>
IValue borrowed(const T& value) {
  if constexpr (std::is_same_v<T, std::string_view> || std::is_same_v<T, c10::string_view>) {
    return IValue(std::string(value));
  } else {
    return IValue(value);
  }
}

// The arguments of a call, for functions that take them as values. They own no tensors, so that
// none is counted.
template <std::size_t kCount>
class Borrowed {
 public:
  template <typename... Given>
  explicit Borrowed(const Given&... given) : values_{borrowed(given)...} {}
  ~Borrowed() {
    for (IValue& value : values_) {
      if (value.isTensor()) std::move(value).toTensor().unsafeReleaseTensorImpl();
    }
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Borrowed(Borrowed&&) = delete;
  Borrowed& operator=(Borrowed&&) = delete;

  [[nodiscard]] const IValue* data() const { return values_.data(); }

 private:
  std::array<IValue, kCount> values_;
};

// What the CPU's kernel gets in the place of an argument of type `T`.
template <typename T>
struct Passed {
  Passed(T given, Aliases& /*aliases*/) : value(std::forward<T>(given)) {}
  T get() { return std::forward<T>(value); }
  void done(Aliases& /*aliases*/) const {}
  T value;
};

template <>
struct Passed<const Tensor&> {
  Passed(const Tensor& given, Aliases& aliases)
      : value(aliases.of_borrowed(given, Aliases::Use::kReads)) {}
  const Tensor& get() { return value; }
  void done(Aliases& /*aliases*/) const {}
  Tensor value;
};

template <>
struct Passed<Tensor&> {
  Passed(Tensor& given, Aliases& aliases)
      : value(aliases.of_borrowed(given, Aliases::Use::kMayWrite)) {}
  Tensor& get() { return value; }
  void done(Aliases& aliases) const { aliases.write_back(value); }
  Tensor value;
};

template <>
struct Passed<const OptionalTensor&> {
  Passed(const OptionalTensor& given, Aliases& aliases) {
    if (given) value = aliases.of_borrowed(*given, Aliases::Use::kReads);
  }
  const OptionalTensor& get() { return value; }
  void done(Aliases& /*aliases*/) const {}
  OptionalTensor value;
};

Tensor returned(Tensor result, Aliases& aliases) {
  return aliases.back(std::move(result));
}

template <typename... Results>
std::tuple<Results...> returned(std::tuple<Results...> results, Aliases& aliases) {
  // Braces convert them in their order.
  return std::apply(
      [&](Results&... each) { return std::tuple<Results...>{aliases.back(std::move(each))...}; },
      results);
}

template <typename Signature>
class TypedKernel;

template <typename Result, typename... Given>
class TypedKernel<Result(Given...)> final : public c10::OperatorKernel {
 public:
  TypedKernel(const c10::OperatorHandle& op, std::unique_ptr<AliasKernel> kernel)
      : op_(op),
        typed_(op.typed<Result(Given...)>()),
        kernel_(kernel.get()),
        boxed_(c10::BoxedKernel::makeFromFunctor(std::move(kernel))) {}

  Result operator()(Given... given) {
    {
      const Borrowed<sizeof...(Given)> values(given...);
      if (kernel_->is_plain(op_, values.data(), sizeof...(Given)))
        return call(kernel_->blas_use_of_call(values.data()),
                    kernel_->workspaces_of_call(values.data()), std::forward<Given>(given)...);
    }
    return c10::impl::BoxedKernelWrapper<Result(Given...)>::call(boxed_, op_, c10::DispatchKeySet(),
                                                                 std::forward<Given>(given)...);
  }

 private:
  Result call(BlasUse blas, const Workspaces& taken, Given... given) {
    Aliases aliases;
    aliases.allow_unallocated();
    if constexpr (std::is_same_v<Result, Tensor&>) {
      Tensor& written = first(given...);
      auto passed = pass(aliases, std::forward<Given>(given)...);
      if (aliases.any_unallocated()) kernel_->check_memory(op_, aliases, nullptr, 0);
      std::apply([&](auto&... each) { compute([&] { redispatch(each...); }); }, passed);
      std::apply([&](auto&... each) { (each.done(aliases), ...); }, passed);
      const auto held = hold(taken, aliases);
      if (blas != BlasUse::kNone) take_blas_workspaces(blas, aliases.device());
      return written;
    } else {
      auto passed = pass(aliases, std::forward<Given>(given)...);
      if (aliases.any_unallocated()) kernel_->check_memory(op_, aliases, nullptr, 0);
      std::optional<Result> result;
      std::apply([&](auto&... each) { compute([&] { result = redispatch(each...); }); }, passed);
      // Taken while the results exist, as by CUDA's kernels.
      const bool takes_last = kernel_->takes_dispensable_memory();
      const auto held = takes_last ? Held() : hold(taken, aliases);
      Result on_device = returned(std::move(*result), aliases);
      const auto last = takes_last ? hold(taken, aliases) : Held();
      if (blas != BlasUse::kNone) take_blas_workspaces(blas, aliases.device());
      return on_device;
    }
  }

  static std::tuple<Passed<Given>...> pass(Aliases& aliases, Given... given) {
    // Braces make them in the order of the arguments.
    return {Passed<Given>(std::forward<Given>(given), aliases)...};
  }

  using Held = c10::SmallVector<c10::DataPtr, 2>;

  Held hold(const Workspaces& taken, const Aliases& aliases) {
    if (taken.empty()) return {};
    return kernel_->take(taken, aliases.device());
  }

  Result redispatch(Passed<Given>&... passed) {
    return typed_.redispatch(kernel_->keys_of_cpu(), passed.get()...);
  }

  template <typename Compute>
  void compute(const Compute& run) {
    // Autograd has already seen this call, so nothing below is recorded or tracked as a view.
    const at::AutoDispatchBelowADInplaceOrView below;
    try {
      run();
    } catch (const c10::Error&) {
      rethrow_with_names_of_device(op_.operator_name().name);
      throw;
    }
  }

  template <typename... Others>
  static Tensor& first(Tensor& written, Others&&...) {
    return written;
  }

  c10::OperatorHandle op_;
  c10::TypedOperatorHandle<Result(Given...)> typed_;
  AliasKernel* kernel_;  // boxed_ owns it
  c10::BoxedKernel boxed_;
};

// The signature of an operator, as "Tensor, Scalar -> Tensor". An argument that is written ends
// with "!".
std::string signature_of(const c10::FunctionSchema& schema) {
  std::string text;
  for (const c10::Argument& argument : schema.arguments()) {
    if (!text.empty()) text += ", ";
    text += argument.real_type()->str();
    if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) text += '!';
  }
  text += " ->";
  for (const c10::Argument& result : schema.returns()) {
    text += " " + result.real_type()->str();
    if (result.alias_info() != nullptr && result.alias_info()->isWrite()) text += '!';
  }
  return text;
}

using Make = c10::KernelFunction (*)(const c10::OperatorHandle& op,
                                     std::unique_ptr<AliasKernel> kernel);

template <typename Signature>
c10::KernelFunction make(const c10::OperatorHandle& op, std::unique_ptr<AliasKernel> kernel) {
  return c10::KernelFunction::makeFromUnboxedFunctor<false, TypedKernel<Signature>>(
      std::make_unique<TypedKernel<Signature>>(op, std::move(kernel)));
}

using T = const Tensor&;
using S = const c10::Scalar&;
using Type = std::optional<at::ScalarType>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

struct Known {
  std::string_view text;
  Make make;
};

// Those of the operators that small programs spend their calls in.
constexpr Known kSignatures[] = {
    {"Tensor -> Tensor", &make<Tensor(T)>},
    {"Tensor, Tensor -> Tensor", &make<Tensor(T, T)>},
    {"Tensor, Tensor, Tensor -> Tensor", &make<Tensor(T, T, T)>},
    {"Tensor, Scalar -> Tensor", &make<Tensor(T, S)>},
    {"Tensor, Scalar, Scalar -> Tensor", &make<Tensor(T, S, S)>},
    {"Tensor, Tensor, Scalar -> Tensor", &make<Tensor(T, T, S)>},
    {"Tensor, Tensor, Tensor, Scalar -> Tensor", &make<Tensor(T, T, T, S)>},
    {"Tensor, Tensor, Tensor, Scalar, Scalar -> Tensor", &make<Tensor(T, T, T, S, S)>},
    {"Tensor, int, bool -> Tensor", &make<Tensor(T, std::int64_t, bool)>},
    {"Tensor, Tensor, int, ScalarType -> Tensor",
     &make<Tensor(T, T, std::int64_t, at::ScalarType)>},
    {"Tensor, ScalarType? -> Tensor", &make<Tensor(T, Type)>},
    {"Tensor, int[]?, bool, ScalarType? -> Tensor",
     &make<Tensor(T, at::OptionalIntArrayRef, bool, Type)>},
    {"Tensor, str -> Tensor", &make<Tensor(T, c10::string_view)>},
    {"Tensor, Tensor, str -> Tensor", &make<Tensor(T, T, c10::string_view)>},
    {"Tensor, SymInt[], Tensor?, Tensor?, float -> Tensor Tensor Tensor",
     &make<Three(T, c10::SymIntArrayRef, const OptionalTensor&, const OptionalTensor&, double)>},
    {"Tensor, Tensor, SymInt[], Tensor, Tensor, Tensor?, Tensor?, bool[] -> Tensor Tensor Tensor",
     &make<Three(T, T, c10::SymIntArrayRef, T, T, const OptionalTensor&, const OptionalTensor&,
                 std::array<bool, 3>)>},
    {"Tensor! -> Tensor!", &make<Tensor&(Tensor&)>},
    {"Tensor!, Tensor -> Tensor!", &make<Tensor&(Tensor&, T)>},
    {"Tensor!, Scalar -> Tensor!", &make<Tensor&(Tensor&, S)>},
    {"Tensor!, Tensor, Scalar -> Tensor!", &make<Tensor&(Tensor&, T, S)>},
    {"Tensor!, Tensor, bool -> Tensor!", &make<Tensor&(Tensor&, T, bool)>},
    {"Tensor!, Tensor, Tensor, Scalar -> Tensor!", &make<Tensor&(Tensor&, T, T, S)>},
};

Make maker_of(const c10::OperatorHandle& op, const AliasKernel& kernel) {
  if (!kernel.may_be_plain() || !op.operator_name().name.starts_with("aten::")) return nullptr;
  const std::string signature = signature_of(op.schema());
  for (const Known& known : kSignatures) {
    if (known.text == signature) return known.make;
  }
  return nullptr;
}

}  // namespace

c10::KernelFunction kernel_over_cpu(const c10::OperatorHandle& op, c10::DispatchKey cpu,
                                    TypeRules types, Choice instead) {
  auto kernel = std::make_unique<AliasKernel>(op, cpu, types, instead);
  const Make maker = maker_of(op, *kernel);
  if (maker != nullptr) return maker(op, std::move(kernel));
  return c10::KernelFunction::makeFromBoxedFunctor<AliasKernel>(std::move(kernel));
}

void put(const c10::OperatorHandle& op, c10::DispatchKey key, c10::KernelFunction kernel) {
  static auto* handles = new std::vector<c10::RegistrationHandleRAII>();
  handles->push_back(
      c10::Dispatcher::singleton().registerImpl(op.operator_name(), key, std::move(kernel),
                                                std::nullopt, nullptr, "torchport virtual device"));
}

}  // namespace torchport::vdev
