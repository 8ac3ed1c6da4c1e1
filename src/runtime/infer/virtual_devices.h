// Virtual devices for a program that is not Python's: see docs/virtual-devices.md.
#pragma once

namespace torchport::infer {

// Where TORCHPORT_VIRTUAL asks for them, loads what provides them. Before anything of torch is
// used: torch looks for its devices once. Throws std::runtime_error where the library cannot be
// loaded.
void set_up_virtual_devices();

// Loads the libraries of torch that its accelerators are in: this program links those for the CPU,
// which every torch has.
void load_accelerators();

}  // namespace torchport::infer
