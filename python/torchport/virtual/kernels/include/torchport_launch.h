// Launches a kernel whose arguments are given by their addresses, as the driver does.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "torchport_host.h"

namespace torchport_host {

template <class... Parameters>
constexpr std::size_t parameters(void (*)(Parameters...)) {
  return sizeof...(Parameters);
}

template <class... Parameters, std::size_t... kIndices>
void launch_at(bool barriers, const Configuration& on, void (*kernel)(Parameters...),
               [[maybe_unused]] void** arguments, std::index_sequence<kIndices...>) {
  launch(barriers, on, [&] {
    kernel(*static_cast<std::remove_reference_t<Parameters>*>(arguments[kIndices])...);
  });
}

// `sizes` are those of the grid, then those of a block.
template <class... Parameters>
void launch_with(bool barriers, const unsigned* sizes, std::size_t shared,
                 void (*kernel)(Parameters...), void** arguments) {
  launch_at(barriers,
            Configuration(dim3(sizes[0], sizes[1], sizes[2]), dim3(sizes[3], sizes[4], sizes[5]),
                          shared),
            kernel, arguments, std::index_sequence_for<Parameters...>());
}

}  // namespace torchport_host
