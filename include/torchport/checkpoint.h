// Weights from files onto a device, whatever device they were saved from, and never by running what
// a file says.
//
// Formats: torch.save (both), TorchScript and torch.export archives, safetensors, and folders of
// safetensors with an index. They are read as data: the names and layouts that a file declares are
// told by torchport's own reader, its bytes are mapped. A file that asks for anything that
// torch.load(weights_only=True) refuses is refused with the name that it asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torchport/export.h>

namespace torch::nn {
class Module;
}

namespace torchport {

struct NamedTensor {
  std::string name;  // as its state dict has it: "layer1.0.conv1.weight"
  at::Tensor tensor;
};

struct LoadOptions {
  c10::Device device = c10::DeviceType::CPU;
  // On the CPU tensors lie over the mapped file: pages are read when they are used, and copied when
  // they are written, so that the file is never changed. It must not be cut while they are in use.
  // False: all is read at once.
  bool map = true;
  // Floating-point tensors are cast to it, one at a time.
  std::optional<at::ScalarType> dtype;
};

struct LoadedTensors {
  std::string format;                // "safetensors", "torch.save", ...
  std::vector<NamedTensor> tensors;  // in the file's order; those that shared memory share it
  std::vector<std::string> notes;    // what to know of the file
};

// All tensors of a checkpoint. Throws std::runtime_error, with the path and the reason, for a file
// that cannot be read, is damaged, or asks to run code. Thread safe.
[[nodiscard]] TORCHPORT_API LoadedTensors load_tensors(const std::string& path,
                                                       const LoadOptions& options = {});

struct FileSummary {
  std::string format;                // "torch.save", "TorchScript", ...; empty for no checkpoint
  std::string fault;                 // "is cut off: ..."; empty where nothing is wrong
  std::vector<std::string> refused;  // what torch.load(weights_only=True) refuses in it
  // Its tensors' bytes stand in the file as they are: not so in an archive that a ZIP tool packed
  // again, of which torch.load(mmap=True) makes other values without a word.
  bool mappable = true;
};

// What is to be known before a file is loaded. Nothing is run, nothing thrown. Thread safe.
[[nodiscard]] TORCHPORT_API FileSummary summarize(const std::string& path);

// Writes a safetensors file as a whole or not at all (temporary file, fsync, rename). Tensors of
// any device and layout in memory are written as contiguous ones. Of tensors that are the same
// memory, with the same shape, the first is written and the others are named in the metadata
// ("torchport.shared": {other: first}), for the format knows no sharing; load_tensors shares them
// again. Throws std::invalid_argument for a name twice, a sparse or quantized tensor, or a dtype
// that the format has not; std::runtime_error where the file cannot be written.
TORCHPORT_API void save_safetensors(
    const std::string& path, const std::vector<NamedTensor>& tensors,
    const std::vector<std::pair<std::string, std::string>>& metadata = {});

// One tensor's name, shape and dtype: what a model wants, or a file has.
struct TensorSlot {
  std::string name;
  std::vector<std::int64_t> shape;
  at::ScalarType dtype = at::ScalarType::Float;
};

struct LoadReport {
  struct Mismatch {
    std::string name;
    std::string wanted;
    std::string given;
  };
  std::vector<std::string> missing;     // the model wants them, the file has them not
  std::vector<std::string> unexpected;  // the other way round
  std::vector<Mismatch> shapes;
  std::vector<Mismatch> dtypes;       // no fault: they are cast
  std::vector<std::string> remapped;  // "module." taken off 161 names
  std::string hint;                   // what would make more names match; empty for nothing

  [[nodiscard]] bool complete() const {
    return missing.empty() && unexpected.empty() && shapes.empty();
  }
  // A few lines for people: counts, the first names of each kind, the hint.
  [[nodiscard]] TORCHPORT_API std::string text() const;
};

struct LoadPlan {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  // (wanted, given), both indices
  LoadReport report;
};

// Which tensor of a file goes where. `remap_prefixes`: names that do not match are tried without
// what DataParallel, torch.compile, FSDP, activation checkpointing and trainers put into names, and
// with a common prefix taken off or put on; a name that fits two ways is left alone. `ties`: groups
// of wanted names that are one tensor, of which a file need have but one.
[[nodiscard]] TORCHPORT_API LoadPlan
plan_load(const std::vector<TensorSlot>& wanted, const std::vector<TensorSlot>& given,
          bool remap_prefixes, const std::vector<std::vector<std::string>>& ties = {});

struct LoadIntoOptions : LoadOptions {
  bool strict = true;           // what does not match is an error, and nothing is changed then
  bool remap_prefixes = false;  // prefixes, see plan_load
  std::string key;  // of a checkpoint with several state dicts, the one under this name: "model"
};

// Loads a checkpoint into a module: its parameters and buffers become the file's tensors, cast to
// the module's dtypes, on options.device; no second copy of the module is made. Tensors that are
// registered under several names stay one; the file need have but one of the names. Throws
// std::runtime_error, with the report, where `strict` and something does not match.
TORCHPORT_API LoadReport load_into(torch::nn::Module& module, const std::string& path,
                                   const LoadIntoOptions& options = {});

}  // namespace torchport
