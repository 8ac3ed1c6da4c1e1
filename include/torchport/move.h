// Moves a whole structure of tensors to a device.
//
//   Batch batch = torchport::to(std::map<std::string, std::vector<at::Tensor>>{...}, device);
//
// A loop per structure that calls tensor.to() is easily incomplete: the tensor that it misses fails
// only on the device. So the traversal is generic. It goes through optional, pair, tuple, array,
// the standard library's sequences and maps, and c10::IValue. A type of your own takes part if it
// has a member function that names the members to be moved:
//
//   template <class Visitor> auto torchport_fields(Visitor&& visit) { return visit(ids, mask); }
//
// All functions are thread safe as long as no other thread changes the same structure.
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
  std::optional<at::ScalarType> dtype;  // floating-point tensors are cast to it
  // As in Tensor::to(). If none, the copy is non-blocking from pinned memory to an accelerator.
  std::optional<bool> non_blocking;
};

// Moves one tensor; its shape stays. An undefined tensor stays undefined. Throws what Tensor::to()
// throws.
[[nodiscard]] TORCHPORT_API at::Tensor to(const at::Tensor& tensor, c10::Device device,
                                          const MoveOptions& options = {});

// Moves the tensors within a value. Lists, dicts and tuples are copied, so the original is
// unchanged; values that hold no tensor are returned as they are.
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

// Moves in place. Parts of `value` that hold no tensor are not touched. If a copy throws, the
// tensors before it have been moved.
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

// Returns a copy of the container with its tensors on `device`; the original is unchanged.
template <class T>
[[nodiscard]] T to(T value, c10::Device device, const MoveOptions& options = {}) {
  move_to(value, device, options);
  return value;
}

}  // namespace torchport
