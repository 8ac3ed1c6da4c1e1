// Reads contracts of ONNX models, where the contract is an entry of the model's metadata.
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/deploy/containers/container.h"

namespace torchport::deploy {

namespace {

using base::ErrorCode;
using base::Result;

constexpr std::string_view kKey = "torchport";

// The fields of onnx.proto that lead to the metadata.
constexpr std::uint64_t kModelMetadata = 14;  // ModelProto.metadata_props
constexpr std::uint64_t kEntryKey = 1;        // StringStringEntryProto.key
constexpr std::uint64_t kEntryValue = 2;      // StringStringEntryProto.value

// Walks the fields of one protobuf message without entering them, so that a model of gigabytes
// costs a few reads. https://protobuf.dev/programming-guides/encoding
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}

  // The next length-delimited field, with its number. None at the end, or if the message is
  // damaged: see damaged().
  std::optional<std::pair<std::uint64_t, std::string_view>> next() {
    while (!rest_.empty()) {
      const auto tag = varint();
      if (!tag) return std::nullopt;
      switch (*tag & 7) {
        case 0:
          if (!varint()) return std::nullopt;
          continue;
        case 1:
          if (!skip(8)) return std::nullopt;
          continue;
        case 5:
          if (!skip(4)) return std::nullopt;
          continue;
        case 2: {
          const auto length = varint();
          if (!length || *length > rest_.size()) break;
          const std::string_view value = rest_.substr(0, *length);
          rest_.remove_prefix(*length);
          return std::pair{*tag >> 3, value};
        }
        default:
          break;
      }
      damaged_ = true;
      return std::nullopt;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool damaged() const { return damaged_; }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    damaged_ = true;
    return std::nullopt;
  }

  bool skip(std::size_t bytes) {
    damaged_ = bytes > rest_.size();
    rest_.remove_prefix(damaged_ ? rest_.size() : bytes);
    return !damaged_;
  }

  std::string_view rest_;
  bool damaged_ = false;
};

Result<std::string> read_onnx(const std::string& path, std::string_view bytes) {
  Fields model(bytes);
  while (const auto field = model.next()) {
    if (field->first != kModelMetadata) continue;
    Fields entry(field->second);
    std::string_view key;
    std::string_view value;
    while (const auto part = entry.next()) {
      if (part->first == kEntryKey) key = part->second;
      if (part->first == kEntryValue) value = part->second;
    }
    if (key == kKey) return std::string(value);
  }
  if (model.damaged())
    return base::fail(ErrorCode::kSyntax, "it is not an artefact, or it is damaged or cut off",
                      path);
  return no_contract(path);
}

const ContainerRegistration kOnnx({.recognises = nullptr, .read = &read_onnx});

}  // namespace

}  // namespace torchport::deploy
