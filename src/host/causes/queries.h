// Answers the questions about a machine that several causes ask.
#pragma once

#include <algorithm>
#include <string_view>

#include "host/facts/facts.h"

namespace torchport::host {

[[nodiscard]] inline bool has_nvidia(const Facts& facts) {
  return !facts.of("nvidia").empty();
}

// Whether a GPU of AMD is there, and a torch that is built for it.
[[nodiscard]] inline bool uses_rocm(const Facts& facts) {
  return !facts.of("amd").empty() && facts.torch() != nullptr && !facts.torch()->hip.empty();
}

[[nodiscard]] inline bool in_container(const Facts& facts) {
  return !facts.container.empty();
}

// Whether the kernel has loaded this module.
[[nodiscard]] inline bool has_module(const Facts& facts, std::string_view name) {
  return std::find(facts.modules.begin(), facts.modules.end(), name) != facts.modules.end();
}

// A Jetson's GPU has a kernel module of its own, and needs builds of its own.
[[nodiscard]] inline bool is_jetson(const Facts& facts) {
  return has_module(facts, "nvgpu");
}

// The first device node whose path starts like this: "/dev/nvidia"; null if there is none.
[[nodiscard]] inline const DeviceNode* find_node(const Facts& facts, std::string_view start) {
  const auto found =
      std::find_if(facts.nodes.begin(), facts.nodes.end(),
                   [&](const DeviceNode& node) { return node.path.starts_with(start); });
  return found == facts.nodes.end() ? nullptr : &*found;
}

}  // namespace torchport::host
