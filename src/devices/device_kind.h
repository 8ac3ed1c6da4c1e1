// A kind of device, such as "cuda": everything that torchport has to know of it, in one place.
//
// Every part asks here: which words a device string may start with, which dispatch keys its kernels
// have, what its allocator says when memory runs out, in which order devices are preferred, how a
// fix asks whether it is there, how doctor knows that a torch can use it. Nothing else in torchport
// may compare a kind's name with a literal to decide one of these; a new question about kinds
// becomes a new member of DeviceKind.
//
// A kind is a file in src/devices/kinds/ that defines one function, TORCHPORT_DEVICE_KIND(name).
// The build makes the list of kinds out of that folder, so no list is edited. Self-registration by
// static objects, as rules do it, was rejected: the virtual devices are set up while their library
// is loaded, and the order of static objects of different files is not defined.
//
// The description holds data and no torch type, so that the program, which knows no torch, reads
// the same table as the runtime. Python reads it as JSON: kinds_as_json().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "devices/out_of_memory.h"
#include "devices/profile.h"

namespace torchport::devices {

// A type of elements that devices of a kind cannot hold.
struct RefusedType {
  std::string_view type{};     // of c10::ScalarType: "Double"
  std::string_view message{};  // of the TypeError that torch raises
};

// How a program asks whether such a device is there, and since when torch has that question.
struct Availability {
  std::string_view expression{};  // behind the name of the module torch: "cuda.is_available()"
  int since_major = 0;
  int since_minor = 0;
  // Whether the chain that people write by hand, without torch.accelerator, asks for it.
  bool in_classic_chain = false;
};

// What makes a torch on a host able to compute on such devices.
struct HostSupport {
  std::string_view
      version_member{};         // of torch.version, not None then: "cuda"; empty: no such name
  std::string_view system{};    // the only system that has them: "Darwin"; empty: any
  bool known_to_doctor = true;  // whether doctor can tell at all
};

struct DeviceKind {
  std::string_view name{};     // of device strings: "cuda"; also that of the module torch.cuda
  std::string_view backend{};  // c10::BackendComponent: "CUDA"; dispatch keys are named after it
  int device_type = 0;         // c10::DeviceType, for those who have no c10
  int preference = 0;          // the lowest is taken first where any device will do
  bool several = true;         // whether a host can have more than one
  bool has_streams = true;     // whether copies can run beside kernels
  // The variable that hides devices from a process; empty where there is none.
  std::string_view visibility_variable{};
  // The backend of native_functions.yaml whose checks of devices its kernels have: "CUDA", "MPS".
  std::string_view checked_as{};
  // Whether it has no backend of its own in torch and is a renamed PrivateUse1.
  bool out_of_tree = false;
  std::vector<Profile> profiles{};  // the first is the default; never empty
  std::vector<RefusedType> refused_types{};
  // What its allocator raises; `device` is the number of the device. Thread-safe.
  std::string (*out_of_memory)(const OutOfMemory& failure, int device) = nullptr;
  // What is raised for the number of a device that is not there, and its code where it is an
  // error of the accelerator's runtime (c10::AcceleratorError).
  std::string (*invalid_device)(int device, int count) = nullptr;
  int invalid_device_code = 0;
  Availability availability{};
  HostSupport host{};
};

// All kinds, the preferred first. Built once, never changed, thread-safe.
[[nodiscard]] const std::vector<DeviceKind>& kinds();
// Null where there is none of this name.
[[nodiscard]] const DeviceKind* find_kind(std::string_view name);
// Null where the kind has none of this name.
[[nodiscard]] const Profile* find_profile(const DeviceKind& kind, std::string_view name);

// "cuda, mps, xpu": names in order of preference.
[[nodiscard]] std::string kind_names(std::string_view separator = ", ");

// Whether the word starts a device string of torch ("cuda", "cpu", "meta", "hpu"): the kinds here
// and those that torch knows besides.
[[nodiscard]] bool is_device_type(std::string_view word);

// The table for Python: a JSON array of objects with name, device_type, several,
// has_streams, out_of_tree, visibility_variable, and profiles (names), in order of preference.
[[nodiscard]] std::string kinds_as_json();

}  // namespace torchport::devices

// Starts the function that describes a kind: TORCHPORT_DEVICE_KIND(cuda) { return {.name = "cuda",
// ...}; }
#define TORCHPORT_DEVICE_KIND(name) ::torchport::devices::DeviceKind device_kind_##name()
