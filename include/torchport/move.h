// Moving whatever holds tensors, as a whole, onto a device.
//
//   Batch batch = torchport::to(std::map<std::string, std::vector<at::Tensor>>{...}, device);
//
// Goes through optional, pair, tuple, array, the standard's sequences and maps, and c10::IValue. A
// type of your own takes part when it has a function
//
//   template <class Visitor> auto torchport_fields(Visitor&& visit) { return visit(ids, mask); }
//
// which names its members that are to be moved.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torchport/export.h>

namespace torchport {

struct MoveOptions {
  std::optional<at::ScalarType> dtype;  // of floating-point tensors
  // Without a value: where the source is pinned memory and the target an accelerator.
  std::optional<bool> non_blocking;
};

// One tensor. Undefined ones stay so. Throws what the copy throws. Thread safe.
[[nodiscard]] TORCHPORT_API at::Tensor to(const at::Tensor& tensor, c10::Device device,
                                          const MoveOptions& options = {});

// Lists, dicts and tuples within it are copied, with their tensors moved; the rest is as it was.
[[nodiscard]] TORCHPORT_API c10::IValue to(const c10::IValue& value, c10::Device device,
                                           const MoveOptions& options = {});

namespace detail {

template <class T>
concept MapLike = requires(T& value) {
  typename T::mapped_type;
  value.begin()->second;
};

template <class T>
concept Sequence = requires(T& value) {
  typename T::value_type;
  value.begin();
  value.end();
} && !MapLike<T> && !std::convertible_to<T, std::string_view>;

template <class T>
concept TupleLike = requires { std::tuple_size<T>::value; } && !Sequence<T>;

template <class T>
concept WithFields = requires(T& value) { value.torchport_fields([](auto&...) {}); };

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

}  // namespace detail

// Moves in place; what holds no tensor is left alone.
template <class T>
void move_to(T& value, c10::Device device, const MoveOptions& options = {}) {
  if constexpr (std::is_same_v<T, at::Tensor> || std::is_same_v<T, c10::IValue>) {
    value = to(std::as_const(value), device, options);
  } else if constexpr (detail::IsOptional<T>::value) {
    if (value) move_to(*value, device, options);
  } else if constexpr (detail::WithFields<T>) {
    value.torchport_fields([&](auto&... fields) { (move_to(fields, device, options), ...); });
  } else if constexpr (detail::MapLike<T>) {
    for (auto& item : value) move_to(item.second, device, options);
  } else if constexpr (detail::Sequence<T>) {
    if constexpr (!std::is_arithmetic_v<typename T::value_type>) {
      for (auto& item : value) move_to(item, device, options);
    }
  } else if constexpr (detail::TupleLike<T>) {
    std::apply([&](auto&... items) { (move_to(items, device, options), ...); }, value);
  }
}

// A copy of the container with its tensors on `device`; the original is as it was.
template <class T>
[[nodiscard]] T to(T value, c10::Device device, const MoveOptions& options = {}) {
  move_to(value, device, options);
  return value;
}

}  // namespace torchport
