#include <filesystem>
#include <set>
#include <stdexcept>
#include <system_error>

#include "base/partial_file.h"
#include "runtime/infer/npy.h"
#include "runtime/infer/tensor_file.h"

namespace torchport::infer {

namespace {

void write_npy(const std::string& path, const at::Tensor& tensor) {
  const auto written = base::PartialFile::create(path).and_then([&](base::PartialFile file) {
    const std::string header = npy_header_for(tensor);
    return file.write(header.data(), header.size())
        .and_then([&] { return file.write(tensor.const_data_ptr(), tensor.nbytes()); })
        .and_then([&] { return file.finish(); });
  });
  if (!written) throw std::runtime_error("cannot write " + path + ": " + written.error().message);
}

// Copies outputs that share memory, because other readers of safetensors do not know our note on
// sharing.
NamedTensors unshared(NamedTensors tensors) {
  std::set<const void*> seen;
  for (NamedTensor& named : tensors) {
    if (named.tensor.numel() > 0 && !seen.insert(named.tensor.const_data_ptr()).second)
      named.tensor = named.tensor.clone();
  }
  return tensors;
}

}  // namespace

void check_writable(const std::string& path, std::size_t tensors) {
  const std::filesystem::path place(path);
  if (place.extension() != ".safetensors" && place.extension() != ".npy")
    throw std::runtime_error("--output " + path + " must end with .safetensors or .npy");
  if (place.extension() == ".npy" && tensors != 1)
    throw std::runtime_error("the artefact gives " + std::to_string(tensors) +
                             " outputs, but a .npy file holds one: write to a .safetensors file");
  std::error_code error;
  const auto folder = place.has_parent_path() ? place.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error))
    throw std::runtime_error("cannot write " + path + ": create the folder " + folder.string());
}

void write_tensors(const std::string& path, const NamedTensors& tensors) {
  check_writable(path, tensors.size());
  if (path.ends_with(".npy")) return write_npy(path, tensors.front().tensor);
  save_safetensors(path, unshared(tensors));
}

}  // namespace torchport::infer
