// Holds what a machine has for torch to compute on, as plain data. Facts come from a probe of the
// machine or from a snapshot in a file; causes cannot tell the difference, which makes them
// testable.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace torchport::devices {
struct DeviceKind;
}

namespace torchport::host {

struct Gpu {
  std::string vendor;        // "nvidia", "amd", "intel", "apple"
  std::string name;          // "NVIDIA A100-SXM4-80GB"; empty if unknown
  std::string bus;           // "0000:17:00.0"
  std::string id;            // PCI vendor and device: "10de:20b2"
  std::string capability;    // CUDA: "8.0"; AMD: "gfx90a"
  std::uint64_t memory = 0;  // bytes; 0 if unknown
  bool mig = false;          // it is split into MIG instances
  std::string driver;  // the kernel driver that is bound to it: "nvidia", "nouveau", "vfio-pci"
  // What NVML says of a card of NVIDIA, as far as it was asked:
  std::string uuid{};                            // "GPU-..."; empty if unknown
  std::string compute_mode{};                    // "default", "exclusive process", "prohibited"
  std::optional<std::uint64_t> mig_instances{};  // how many there are
  std::vector<std::string> mig_uuids{};          // "MIG-..."
  std::string fabric{};  // NVSwitch: "not started", "in progress", "completed"; empty for none
  // "lost": it does not answer any more; "rows-failed", "rows-pending": broken memory could not be
  // replaced by spare rows, or will be at the next reset
  std::string fault{};
  bool operator==(const Gpu&) const = default;
};

struct DeviceNode {
  std::string path;       // "/dev/nvidia0"
  bool readable = false;  // readable and writable for this user
  std::string group;      // the group that owns it: "render"
  bool denied = false;    // a control group refuses it, whatever the rights of the file are
  bool operator==(const DeviceNode&) const = default;
};

struct NvidiaDriver {
  std::string module;   // version of the loaded kernel module; empty for none
  std::string library;  // version of libcuda.so.1; "unknown"; empty if there is none
  std::string nvml;     // "ok", "not found", or NVML's own error
  std::string cuda;     // the newest CUDA that it supports: "13.0"
  // nvidia-modprobe is there and may create device nodes for every user, as CUDA starts.
  bool makes_nodes = false;
  // In a container of WSL: whether it has libnvdxgdmal.so.1, which libcuda needs there from driver
  // 555 on: "found", "not found"; empty: not asked.
  std::string dxgdmal{};
  bool operator==(const NvidiaDriver&) const = default;
};

struct Toolkit {
  std::string path;     // "/usr/local/cuda-13.0"
  std::string version;  // "13.0"
  std::string nvcc;     // the version that nvcc prints; empty if it does not run
  std::string from;     // "CUDA_HOME", "PATH", "/usr/local"
  // the newest major version that nvcc accepts as host compiler; 0: unknown
  std::uint64_t newest_gcc = 0;
  bool operator==(const Toolkit&) const = default;
};

struct Torch {
  std::string root;     // its folder
  std::string python;   // "3.11"
  std::string version;  // "2.13.0+cu130"
  std::string cuda;     // the CUDA of its build; empty for none
  std::string hip;
  // What torch.version says of the other device kinds: {"xpu": "20250302"}; nothing for None.
  std::map<std::string, std::string> other_versions;
  std::vector<std::string> archs;  // "sm_80", "gfx90a"
  bool cxx11_abi = true;
  std::string fault;  // why it cannot be read; else empty
  // The Python that its modules are compiled for, if that is not `python`: "3.10".
  std::string built_for_python{};
  // Libraries that it needs to be imported and that were not found: "libcudnn.so.9".
  std::vector<std::string> lacks{};
  bool operator==(const Torch&) const = default;

  // The value of this name in torch.version; empty for None.
  [[nodiscard]] std::string version_of(std::string_view member) const;
  // Sets it; an empty value is None.
  void set_version(std::string_view member, std::string value);
  // The device kind that it is built for; null for the CPU and for ROCm.
  [[nodiscard]] const devices::DeviceKind* kind() const;
};

// The names in torch.version of the device kinds other than CUDA.
[[nodiscard]] std::vector<std::string> other_version_members();

struct Facts {
  std::string system;   // "Linux", "Darwin", "Windows"
  std::string release;  // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;
  std::string machine;  // "x86_64", "aarch64"
  bool wsl = false;
  bool secure_boot = false;        // the firmware loads, and the kernel takes, only what is signed
  std::string container;           // "docker", "podman", "kubernetes", "lxc"; empty for none
  std::uint64_t memory_limit = 0;  // of the control group, in bytes; 0 for none
  std::uint64_t cpu_limit = 0;     // of the control group, in thousandths of a CPU; 0 for none
  std::map<std::string, std::string> environment;  // the variables that matter here
  std::vector<std::string> modules;  // the kernel's modules for GPUs: "nvidia", "amdgpu"
  std::vector<Gpu> gpus;
  std::vector<DeviceNode> nodes;
  NvidiaDriver nvidia;
  std::string rocm;        // version of the ROCm runtime; empty for none
  std::string rocm_smi;    // its library's answer: "ok", "not found", an error; empty: not asked
  std::string level_zero;  // path of Intel's loader; empty for none
  std::string level_zero_state;  // the loader's answer, as for rocm_smi
  std::string host_gcc;          // version of the gcc that nvcc would call; empty for none
  // CUDA libraries in folders of LD_LIBRARY_PATH. They are loaded before those that torch brings.
  std::vector<std::string> shadowing;
  std::string os_version;  // of macOS
  std::vector<Toolkit> toolkits;
  std::string python;          // that of the active environment: "3.11"; empty if unknown
  std::vector<Torch> torches;  // in the order in which Python finds them: it imports the first
  bool operator==(const Facts&) const = default;

  [[nodiscard]] std::vector<const Gpu*> of(std::string_view vendor) const {
    std::vector<const Gpu*> found;
    for (const Gpu& gpu : gpus)
      if (gpu.vendor == vendor) found.push_back(&gpu);
    return found;
  }
  [[nodiscard]] const Torch* torch() const { return torches.empty() ? nullptr : &torches.front(); }
  // The variable's value; none if it is not set.
  [[nodiscard]] std::optional<std::string> variable(const std::string& name) const {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  }
};

}  // namespace torchport::host
