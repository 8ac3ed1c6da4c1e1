// Describes a device kind, such as "cuda": everything that torchport has to know about it, in one
// place.
//
// Every part asks here: which words a device string may start with, which dispatch keys its kernels
// have, what its allocator says when memory runs out, in which order devices are preferred, how a
// fix asks whether a device exists, how doctor knows that a torch can use it. No other code of
// torchport may compare a kind's name with a literal to decide one of these; a new question about
// kinds becomes a new member of DeviceKind.
//
// A kind is a file in src/devices/kinds/ that defines one function, TORCHPORT_DEVICE_KIND(name).
// The build makes the list of kinds from that folder, so no list is edited. Self-registration by
// static objects, as rules do it, was rejected: the virtual devices are set up while their library
// is loaded, and the order of static objects of different files is not defined.
//
// The description holds data and no torch type, so that the program, which does not link torch,
// reads the same table as the runtime. Python reads it as JSON: kinds_as_json().
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/out_of_memory.h"
#include "devices/profile.h"

namespace torchport::devices {

// A dtype that devices of a kind cannot hold.
struct RefusedType {
  std::string_view type{};     // the name in c10::ScalarType: "Double"
  std::string_view message{};  // of the TypeError that torch raises
};

// How a program asks whether such a device is available, and since which torch it can.
struct Availability {
  std::string_view expression{};  // after the name of the module torch: "cuda.is_available()"
  int since_major = 0;
  int since_minor = 0;
  // Whether code that people write by hand, without torch.accelerator, usually asks for it.
  bool in_classic_chain = false;
};

// What a host and its torch need to compute on such devices.
struct HostSupport {
  std::string_view
      version_member{};       // the name in torch.version that is not None: "cuda"; empty: none
  std::string_view vendor{};  // whose GPUs a torch with that name computes on: "nvidia"
  std::string_view system{};  // the only system that has such devices: "Darwin"; empty: any
  // Files of which one exists where such a device may be, as patterns for glob. If there are none,
  // `system` alone decides.
  std::vector<std::string_view> device_files{};
  bool known_to_doctor = true;  // whether doctor can tell
};

struct DeviceKind {
  std::string_view name{};     // as in device strings: "cuda"; also the module's, torch.cuda
  std::string_view backend{};  // c10::BackendComponent: "CUDA"; dispatch keys are named after it
  int device_type = 0;         // c10::DeviceType, as a number for code without c10
  int preference = 0;          // the lowest is chosen first if any device will do
  bool several = true;         // whether a host can have more than one
  bool has_streams = true;     // whether copies can run beside kernels
  // The environment variable that hides devices from a process; empty if there is none.
  std::string_view visibility_variable{};
  // Those that also hide them in builds of torch for ROCm, whose devices have this name, too.
  std::vector<std::string_view> rocm_visibility_variables{};
  // The backend of native_functions.yaml whose device checks its kernels have: "CUDA", "MPS".
  std::string_view checked_as{};
  // The libraries that builds of torch for such devices have beside libtorch_cpu. A build has some
  // of them or none.
  std::vector<std::string_view> libraries{};
  // Whether it has no backend of its own in torch and renames PrivateUse1.
  bool out_of_tree = false;
  // The files in profiles/NAME/, which kinds() adds: the default first, the others by name. Never
  // empty.
  std::span<const Profile> profiles{};
  std::vector<RefusedType> refused_types{};
  // The message of its allocator's error. `device` is the device's number. Thread safe.
  std::string (*out_of_memory)(const OutOfMemory& failure, int device) = nullptr;
  // The message for the number of a device that does not exist, and its code if it is an error of
  // the accelerator's runtime (c10::AcceleratorError).
  std::string (*invalid_device)(int device, int count) = nullptr;
  int invalid_device_code = 0;
  // The message of the error of its runtime after an assertion of a kernel failed, and its code;
  // null if kernels of the kind report no errors in a time of their own. `at_once` is whether each
  // call waits for its kernel. Thread safe.
  std::string (*failed_assertion)(bool at_once) = nullptr;
  int failed_assertion_code = 0;
  // The environment variable, set to 1, that makes each call wait for its kernel.
  std::string_view launch_blocking_variable{};
  Availability availability{};
  HostSupport host{};
};

// All kinds, the preferred first. Built once and never changed. Thread safe.
[[nodiscard]] const std::vector<DeviceKind>& kinds();
// The kind of this name; null if there is none.
[[nodiscard]] const DeviceKind* find_kind(std::string_view name);
// The kind's profile of this name; null if there is none.
[[nodiscard]] const Profile* find_profile(const DeviceKind& kind, std::string_view name);

// "cuda, mps, xpu": names in order of preference.
[[nodiscard]] std::string kind_names(std::string_view separator = ", ");

// Whether a word starts a device string of torch ("cuda", "cpu", "meta", "hpu"): one of the kinds
// here or another that torch knows.
[[nodiscard]] bool is_device_type(std::string_view word);

// The table for Python: a JSON array of objects with name, device_type, several,
// has_streams, out_of_tree, visibility_variable, system, device_files and profiles (names), in
// order of preference.
[[nodiscard]] std::string kinds_as_json();

}  // namespace torchport::devices

// Starts the function that describes a kind:
//   TORCHPORT_DEVICE_KIND(cuda) { return {.name = "cuda", ...}; }
#define TORCHPORT_DEVICE_KIND(name) ::torchport::devices::DeviceKind device_kind_##name()
