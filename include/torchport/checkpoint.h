// Loads weights from files onto a device, whatever device they were saved from, and saves them. No
// code of a file is ever run.
//
// The formats are torch.save (both the ZIP and the legacy one), TorchScript and torch.export
// archives, safetensors, and folders of safetensors with an index. torch's own unpickler would
// construct what a file names, so torchport has a reader of its own: it takes names and layouts out
// of the file as data and maps the tensors' bytes. Objects beside the tensors are left out, and a
// note names their classes. A file is refused that asks for functions which have no use but to run
// code.
//
// All functions report failures by C++ exceptions, as torch does. Sizes are in elements unless a
// comment says bytes.
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
  // If true, tensors on the CPU are views of the mapped file: a page is read when it is first used,
  // and copied when it is first written, so the file never changes. The file must not be truncated
  // while such tensors exist. If false, the whole file is read at once.
  bool map = true;
  // If set, floating-point tensors are cast to this dtype, one at a time. Other tensors keep
  // theirs.
  std::optional<at::ScalarType> dtype;
};

struct LoadedTensors {
  std::string format;  // "safetensors", "torch.save", ...
  // in the file's order; tensors that shared memory still share it
  std::vector<NamedTensor> tensors;
  std::vector<std::string> notes;  // warnings about the file, one sentence each
};

// Loads all tensors of a checkpoint. Shapes and strides are those of the file. Throws
// std::runtime_error, with the path and the reason, if the file cannot be read, is damaged, or asks
// to run code. Thread safe.
[[nodiscard]] TORCHPORT_API LoadedTensors load_tensors(const std::string& path,
                                                       const LoadOptions& options = {});

struct FileSummary {
  std::string format;  // "torch.save", "TorchScript", ...; empty if this is no checkpoint
  std::string fault;   // "is cut off: ..."; empty if nothing is wrong
  std::vector<std::string> refused;  // names in it that torch.load(weights_only=True) refuses
  // Whether the tensors' bytes lie in the file uncompressed, so that it can be mapped. This is
  // false for an archive that another ZIP tool packed again. torch.load(mmap=True) reads wrong
  // values from such an archive, without an error.
  bool mappable = true;
};

// Summarizes a file before it is loaded. Runs no code of the file and throws nothing: an unreadable
// file has a `fault`. Thread safe.
[[nodiscard]] TORCHPORT_API FileSummary summarize(const std::string& path);

// Writes a safetensors file completely or not at all (temporary file, fsync, rename). Tensors may
// be on any device and have any strides; they are written as contiguous tensors. The format cannot
// express sharing. So if several tensors are the same memory with the same shape, only the first is
// written, and the metadata names the others ("torchport.shared": {other: first}); load_tensors()
// makes them share memory again. Throws std::invalid_argument for a repeated name, a sparse or
// quantized tensor, or a dtype that the format does not have, and std::runtime_error if the file
// cannot be written. Thread safe for different paths.
TORCHPORT_API void save_safetensors(
    const std::string& path, const std::vector<NamedTensor>& tensors,
    const std::vector<std::pair<std::string, std::string>>& metadata = {});

// The name, shape (in elements) and dtype of one tensor, in a model or in a file.
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
  std::vector<std::string> missing;     // in the model, but not in the file
  std::vector<std::string> unexpected;  // in the file, but not in the model
  std::vector<Mismatch> shapes;
  std::vector<Mismatch> dtypes;       // not an error: the tensors are cast
  std::vector<std::string> remapped;  // what was renamed: "module." taken off 161 names
  std::string hint;  // an option that would make more names match; empty if there is none

  [[nodiscard]] bool complete() const {
    return missing.empty() && unexpected.empty() && shapes.empty();
  }
  // A few lines for people: the counts, the first names of each kind, the hint.
  [[nodiscard]] TORCHPORT_API std::string text() const;
};

struct LoadPlan {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  // indices into (wanted, given)
  LoadReport report;
};

// Decides which tensor of a file becomes which tensor of a model. Only names, shapes and dtypes are
// compared; nothing is loaded.
//
// With `remap_prefixes`, a name that does not match is also tried without the prefixes that
// DataParallel, torch.compile, FSDP, activation checkpointing and trainers add, and with one common
// prefix removed or added. A name that fits in two ways is not renamed.
//
// `ties` are groups of wanted names that are one tensor; the file needs to have only one name of
// each group. Never throws for a mismatch: LoadPlan::report has it. Thread safe.
[[nodiscard]] TORCHPORT_API LoadPlan
plan_load(const std::vector<TensorSlot>& wanted, const std::vector<TensorSlot>& given,
          bool remap_prefixes, const std::vector<std::vector<std::string>>& ties = {});

struct LoadIntoOptions : LoadOptions {
  bool strict = true;           // a mismatch is an error, and then the module stays unchanged
  bool remap_prefixes = false;  // rename as plan_load() describes
  std::string key;  // selects one of several state dicts in a checkpoint by its name: "model"
};

// Loads a checkpoint into a module. The module's parameters and buffers become the file's tensors,
// cast to the module's dtypes, on options.device; no second copy of the module is made. Tensors
// that are registered under several names stay one tensor, and the file needs to have only one of
// the names. Throws std::runtime_error, with the report as its text, if `strict` is set and
// something does not match, and for a file that load_tensors() refuses. Not thread safe for one
// module.
TORCHPORT_API LoadReport load_into(torch::nn::Module& module, const std::string& path,
                                   const LoadIntoOptions& options = {});

}  // namespace torchport
