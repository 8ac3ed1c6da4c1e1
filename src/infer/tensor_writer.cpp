#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "infer/npy.h"
#include "infer/tensor_file.h"

namespace torchport::infer {

namespace {

// https://github.com/huggingface/safetensors#format
const char* safetensors_dtype(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Float:
      return "F32";
    case c10::ScalarType::Double:
      return "F64";
    case c10::ScalarType::Half:
      return "F16";
    case c10::ScalarType::BFloat16:
      return "BF16";
    case c10::ScalarType::Long:
      return "I64";
    case c10::ScalarType::Int:
      return "I32";
    case c10::ScalarType::Short:
      return "I16";
    case c10::ScalarType::Char:
      return "I8";
    case c10::ScalarType::Byte:
      return "U8";
    case c10::ScalarType::UInt16:
      return "U16";
    case c10::ScalarType::UInt32:
      return "U32";
    case c10::ScalarType::UInt64:
      return "U64";
    case c10::ScalarType::Bool:
      return "BOOL";
    default:
      throw std::runtime_error(std::string("safetensors has no dtype for ") + c10::toString(dtype));
  }
}

std::string safetensors_header(const NamedTensors& tensors) {
  nlohmann::ordered_json header;
  std::size_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", safetensors_dtype(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {at, at + tensor.nbytes()}}};
    at += tensor.nbytes();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the elements begin at a multiple of 8
  std::string size(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    size[i] = static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (8 * i) & 0xFF);
  return size + text;
}

// A file that takes its name only when all of it is on disk.
class NewFile {
 public:
  explicit NewFile(std::string path)
      : path_(std::move(path)), temporary_(path_ + "." + std::to_string(getpid()) + ".part") {
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail();
  }
  ~NewFile() {
    if (descriptor_ >= 0) close(descriptor_);
    unlink(temporary_.c_str());  // gone already where it has its name
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t done = ::write(descriptor_, at, bytes);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail();
      at += done;
      bytes -= static_cast<std::size_t>(done);
    }
  }

  void finish() {
    if (fsync(descriptor_) != 0) fail();
    if (rename(temporary_.c_str(), path_.c_str()) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    const std::string reason = std::strerror(errno);
    throw std::runtime_error("cannot write " + path_ + ": " + reason);
  }

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace

void check_writable(const std::string& path, std::size_t tensors) {
  const std::filesystem::path place(path);
  if (place.extension() != ".safetensors" && place.extension() != ".npy")
    throw std::runtime_error("--output " + path + " is neither .safetensors nor .npy");
  if (place.extension() == ".npy" && tensors != 1)
    throw std::runtime_error("the artefact gives " + std::to_string(tensors) +
                             " outputs, a .npy file holds one: write to a .safetensors file");
  std::error_code error;
  const auto folder = place.has_parent_path() ? place.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error))
    throw std::runtime_error("cannot write " + path + ": there is no folder " + folder.string());
}

void write_tensors(const std::string& path, const NamedTensors& tensors) {
  check_writable(path, tensors.size());
  NewFile file(path);
  const std::string header =
      path.ends_with(".npy") ? npy_header_for(tensors.front().second) : safetensors_header(tensors);
  file.write(header.data(), header.size());
  for (const auto& [name, tensor] : tensors) file.write(tensor.data_ptr(), tensor.nbytes());
  file.finish();
}

}  // namespace torchport::infer
