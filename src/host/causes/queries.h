// Answers the questions about a machine that several causes ask.
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

#include "host/facts/facts.h"
#include "versions/version.h"

namespace torchport::host {

[[nodiscard]] inline bool has_nvidia(const Facts& facts) {
  return !facts.of("nvidia").empty();
}

[[nodiscard]] inline bool is_built_for_rocm(const Torch* torch) {
  return torch != nullptr && !torch->hip.empty();
}

[[nodiscard]] inline bool is_built_for_xpu(const Torch* torch) {
  return torch != nullptr && !torch->version_of("xpu").empty();
}

// Whether a GPU of AMD is there, and a torch that is built for it.
[[nodiscard]] inline bool uses_rocm(const Facts& facts) {
  return !facts.of("amd").empty() && is_built_for_rocm(facts.torch());
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

// The node of one of NVIDIA's cards ("/dev/nvidia0"), not one of the driver's ("/dev/nvidiactl").
[[nodiscard]] inline bool is_card_node(const DeviceNode& node) {
  constexpr std::string_view kCard = "/dev/nvidia";
  return node.path.starts_with(kCard) && node.path.size() > kCard.size() &&
         std::isdigit(static_cast<unsigned char>(node.path[kCard.size()])) != 0;
}

[[nodiscard]] inline bool has_card_node(const Facts& facts) {
  return std::any_of(facts.nodes.begin(), facts.nodes.end(), &is_card_node);
}

// Whether libcuda is that of NVIDIA's package cuda-compat: a newer one that works with an older
// kernel module ("CUDA Compatibility", forward compatibility).
[[nodiscard]] inline bool has_compat_library(const Facts& facts) {
  const auto path = facts.variable("LD_LIBRARY_PATH");
  return path && path->find("compat") != std::string::npos &&
         versions::older(facts.nvidia.module, facts.nvidia.library);
}

// Whether the loaded kernel module and the driver's libraries are of different versions. Then what
// else the driver said is void.
[[nodiscard]] inline bool driver_mismatch(const Facts& facts) {
  const std::string& module = facts.nvidia.module;
  const std::string& library = facts.nvidia.library;
  const std::string& nvml = facts.nvidia.nvml;
  if (module.empty() || library.empty() || facts.wsl) return false;
  if (nvml.find("version mismatch") != std::string::npos) return true;
  return library != "unknown" && module != library && !has_compat_library(facts);
}

// Whether the distribution's C library is musl, for which there are no wheels of torch.
[[nodiscard]] inline bool has_musl(const Facts& facts) {
  return facts.release.starts_with("Alpine") || facts.release.starts_with("postmarketOS");
}

// Whether this is a job of the scheduler Slurm that was given no GPU.
[[nodiscard]] inline bool in_job_without_gpu(const Facts& facts) {
  if (!facts.variable("SLURM_JOB_ID")) return false;
  const auto openable = [](const DeviceNode& node) { return is_card_node(node) && node.readable; };
  if (std::none_of(facts.nodes.begin(), facts.nodes.end(), openable)) return true;
  const auto visible = facts.variable("CUDA_VISIBLE_DEVICES");
  return visible && (visible->empty() || *visible == "NoDevFiles") &&
         !facts.variable("SLURM_JOB_GPUS") && !facts.variable("SLURM_STEP_GPUS");
}

// Whether Python can import it.
[[nodiscard]] inline bool can_be_imported(const Torch& torch) {
  return torch.fault.empty() && torch.built_for_python.empty() && torch.lacks.empty();
}

}  // namespace torchport::host
