// Provides virtual devices to a program that is not Python's. In Python a line of a .pth file loads
// them (docs/virtual-devices.md); a C++ program has to load the library itself.
#pragma once

namespace torchport::infer {

// Whether TORCHPORT_VIRTUAL asks for virtual devices in this process. Thread safe.
[[nodiscard]] bool wants_virtual_devices();

// Loads the library of virtual devices if TORCHPORT_VIRTUAL asks for them. Call it before any use
// of torch: torch looks for its devices only once. Throws std::runtime_error if the library cannot
// be loaded.
void set_up_virtual_devices();

// Loads those libraries of torch that have its accelerators. This program links only the CPU
// libraries, which every build of torch has.
void load_accelerators();

}  // namespace torchport::infer
