// Holds the settings that decide what inserted code may look like. They are read by
// project/config.h and only used below it, so they are a plain struct of this layer.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace torchport::edit {

// A torch release. Only major and minor decide what inserted code may use.
struct TorchVersion {
  std::uint16_t major = 1;
  std::uint16_t minor = 12;

  [[nodiscard]] auto operator<=>(const TorchVersion&) const = default;
};

enum class Idiom : std::uint8_t {
  kAuto,         // accelerator for torch 2.6 and later, otherwise classic
  kAccelerator,  // torch.accelerator.current_accelerator()
  kClassic,      // cuda, mps or cpu, by availability
  kHelper,       // call Settings::helper
};

// What a file of a package takes its device variable from, in place of a choice of its own: a
// torch.device of another module, or a function there that returns one.
struct SharedDevice {
  std::string module;  // as the file writes it in an import: "._device", "pkg.utils"
  std::string name;    // empty: nothing is shared
  bool function = false;
};

struct Settings {
  TorchVersion min_torch;  // oldest torch the project supports; 1.12 unless the project says more
  bool min_torch_stated = false;
  Idiom idiom = Idiom::kAuto;
  std::string helper;   // "package.module:function", for kHelper
  SharedDevice shared;  // for one file of a package
  // Whether other files of the program leave on the CPU what is not on CUDA (semantics::CudaOrCpu):
  // then inserted code does not choose from more kinds either.
  bool only_cuda = false;
  // Whether a star of another file brings this file's public names there: the device variable is
  // private then.
  bool private_variable = false;
  bool extends_choices = false;  // fixes of this run do what CudaOrCpu::chooses speaks of
  // Whether code that runs only with CUDA is reported, too: it is right, and serves no other
  // accelerator.
  bool strict = false;
  std::uint16_t line_length = 0;  // of the project's formatter; 0: what each file keeps to

  [[nodiscard]] bool uses_accelerator() const {
    return idiom == Idiom::kAccelerator ||
           (idiom == Idiom::kAuto && min_torch >= TorchVersion{2, 6});
  }
};

}  // namespace torchport::edit
