// Tensors out of files of any kind that people keep them in. No code of a file is run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <torchport/checkpoint.h>

namespace torchport::infer {

// In the file's order. A .npy array has no name.
using NamedTensors = std::vector<NamedTensor>;

// The tensors of a safetensors, .npy, .npz or torch.save file, known by its content. They lie in
// the file's mapping, which they keep alive: read, never write, them. Throws std::runtime_error for
// a file that cannot be read, is damaged, holds no tensors, or asks to run code.
[[nodiscard]] NamedTensors read_tensors(const std::string& path);

// Writes them as .safetensors or .npy, by the path's suffix (.npy: one tensor), whole or not at
// all. Contiguous tensors on the CPU. Throws std::runtime_error.
void write_tensors(const std::string& path, const NamedTensors& tensors);

// Throws std::runtime_error where write_tensors() could not write so many tensors there.
void check_writable(const std::string& path, std::size_t tensors);

}  // namespace torchport::infer
