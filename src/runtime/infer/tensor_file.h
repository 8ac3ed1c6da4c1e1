// Reads and writes tensors in the file formats that people keep data in. No code of a file is run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <torchport/checkpoint.h>

namespace torchport::infer {

// Tensors in the file's order. The tensor of a .npy file has no name.
using NamedTensors = std::vector<NamedTensor>;

// Reads the tensors of a safetensors, .npy, .npz or torch.save file; its content tells the format.
// The tensors lie in the file's mapping, which they keep alive: read them, but never write to them.
// Throws std::runtime_error for a file that cannot be read, is damaged, holds no tensors, or asks
// to run code.
[[nodiscard]] NamedTensors read_tensors(const std::string& path);

// Writes tensors as .safetensors or .npy (one tensor), by the path's suffix, completely or not at
// all. They must be contiguous and on the CPU. Throws std::runtime_error.
void write_tensors(const std::string& path, const NamedTensors& tensors);

// Throws std::runtime_error if write_tensors() could not write so many tensors to this path. Called
// before a long run, whose result would otherwise be lost.
void check_writable(const std::string& path, std::size_t tensors);

}  // namespace torchport::infer
