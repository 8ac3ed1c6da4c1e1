// Names the members of facts in JSON: see json/members.h.
#pragma once

#include <utility>

#include "host/facts/facts.h"

namespace torchport::host {

template <class Visit>
void members(Gpu& gpu, Visit&& visit) {
  visit("vendor", gpu.vendor);
  visit("name", gpu.name);
  visit("bus", gpu.bus);
  visit("id", gpu.id);
  visit("capability", gpu.capability);
  visit("memory", gpu.memory);
  visit("mig", gpu.mig);
  visit("driver", gpu.driver);
  visit("uuid", gpu.uuid);
  visit("compute_mode", gpu.compute_mode);
  visit("mig_instances", gpu.mig_instances);
  visit("mig_uuids", gpu.mig_uuids);
  visit("fabric", gpu.fabric);
  visit("fault", gpu.fault);
}

template <class Visit>
void members(DeviceNode& node, Visit&& visit) {
  visit("path", node.path);
  visit("readable", node.readable);
  visit("group", node.group);
  visit("denied", node.denied);
}

template <class Visit>
void members(NvidiaDriver& driver, Visit&& visit) {
  visit("module", driver.module);
  visit("library", driver.library);
  visit("nvml", driver.nvml);
  visit("cuda", driver.cuda);
  visit("makes_nodes", driver.makes_nodes);
  visit("dxgdmal", driver.dxgdmal);
}

template <class Visit>
void members(Toolkit& toolkit, Visit&& visit) {
  visit("path", toolkit.path);
  visit("version", toolkit.version);
  visit("nvcc", toolkit.nvcc);
  visit("from", toolkit.from);
  visit("newest_gcc", toolkit.newest_gcc);
}

template <class Visit>
void members(Torch& torch, Visit&& visit) {
  visit("root", torch.root);
  visit("python", torch.python);
  visit("version", torch.version);
  visit("cuda", torch.cuda);
  visit("hip", torch.hip);
  for (const std::string& name : other_version_members()) {
    std::string version = torch.version_of(name);
    visit(name.c_str(), version);
    torch.set_version(name, std::move(version));
  }
  visit("archs", torch.archs);
  visit("cxx11_abi", torch.cxx11_abi);
  visit("fault", torch.fault);
  visit("built_for_python", torch.built_for_python);
  visit("lacks", torch.lacks);
}

template <class Visit>
void members(Facts& facts, Visit&& visit) {
  visit("system", facts.system);
  visit("release", facts.release);
  visit("kernel", facts.kernel);
  visit("machine", facts.machine);
  visit("os_version", facts.os_version);
  visit("wsl", facts.wsl);
  visit("secure_boot", facts.secure_boot);
  visit("container", facts.container);
  visit("memory_limit", facts.memory_limit);
  visit("cpu_limit", facts.cpu_limit);
  visit("environment", facts.environment);
  visit("modules", facts.modules);
  visit("gpus", facts.gpus);
  visit("nodes", facts.nodes);
  visit("nvidia", facts.nvidia);
  visit("rocm", facts.rocm);
  visit("rocm_smi", facts.rocm_smi);
  visit("level_zero", facts.level_zero);
  visit("level_zero_state", facts.level_zero_state);
  visit("host_gcc", facts.host_gcc);
  visit("shadowing", facts.shadowing);
  visit("toolkits", facts.toolkits);
  visit("python", facts.python);
  visit("torches", facts.torches);
}

}  // namespace torchport::host
