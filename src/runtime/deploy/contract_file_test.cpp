// Finds contracts in complete, truncated and hostile files.
#include "runtime/deploy/contract_file.h"

#include <random>
#include <string>

#include <doctest/doctest.h>

#include "runtime/deploy/engines/engine.h"

namespace torchport::deploy {

namespace {

// A length-delimited protobuf field. https://protobuf.dev/programming-guides/encoding
std::string field(unsigned number, const std::string& value) {
  std::string text;
  const auto varint = [&](std::uint64_t rest) {
    for (; rest >= 0x80; rest >>= 7U) text += static_cast<char>((rest & 0x7F) | 0x80);
    text += static_cast<char>(rest);
  };
  varint(number << 3U | 2U);
  varint(value.size());
  return text + value;
}

std::string model(const std::string& key, const std::string& contract) {
  return field(7, std::string(500, 'g')) + field(14, field(1, "other") + field(2, "x")) +
         field(14, field(1, key) + field(2, contract));
}

}  // namespace

TEST_CASE("an ONNX model's contract is the entry of its metadata that has our name") {
  CHECK(find_contract("m.onnx", model("torchport", "{}")).value() == "{}");
  CHECK(find_contract("m.onnx", model("other", "{}")).error().code == base::ErrorCode::kConfig);
  CHECK(find_contract("m.onnx", "").error().code == base::ErrorCode::kSyntax);
}

TEST_CASE("a model that is cut off anywhere is damaged or has no contract, and never read beyond") {
  const std::string whole = model("torchport", std::string(300, 'c'));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(find_contract("m.onnx", std::string(whole, 0, length)).has_value());
  }
}

TEST_CASE("any bytes give an answer") {
  std::mt19937 random(11);  // the same bytes in each run
  const std::string whole = model("torchport", "{\"format\": \"onnx\"}");
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = i % 2 == 0 ? whole : std::string(random() % 200, '\0');
    for (int change = 0; change < 4 && !bytes.empty(); ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (i % 3 == 0) bytes.insert(0, "PK");
    static_cast<void>(find_contract("any", bytes));
  }
}

TEST_CASE("the engines that are linked are known by their formats") {
  CHECK(engine_formats() == "aoti, onnx, pt2 or torchscript");
  for (const char* format : {"aoti", "onnx", "pt2", "torchscript"}) {
    REQUIRE(find_engine(format) != nullptr);
    CHECK(find_engine(format)->name == format);
  }
  CHECK(find_engine("other") == nullptr);
  const auto refuses = find_engine("onnx")->refuses;
  REQUIRE((refuses != nullptr));
  CHECK(refuses(c10::Device("cpu")).empty());
  CHECK_FALSE(refuses(c10::Device("cuda:0")).empty());
}

}  // namespace torchport::deploy
