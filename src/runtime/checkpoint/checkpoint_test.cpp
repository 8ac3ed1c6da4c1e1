#include <fstream>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "runtime/checkpoint/contents.h"
#include "runtime/checkpoint/pickle.h"

namespace torchport {
namespace {

using namespace std::string_literals;  // NOLINT: bytes with zeros in them
using checkpoint::read_pickle;
using checkpoint::Type;

TEST_CASE("a pickle is data") {
  // pickle.dumps({"a": [1, -2, 2**40], "b": (1.5, None, True)}, 2)
  const std::string bytes =
      "\x80\x02}q\x00(X\x01\x00\x00\x00"
      "aq\x01]q\x02(K\x01J\xfe\xff\xff\xff\x8a\x06\x00\x00\x00\x00\x00\x01"
      "eX\x01\x00\x00\x00"
      "bq\x03G?\xf8\x00\x00\x00\x00\x00\x00N\x88\x87q\x04u."s;
  const auto pickle = read_pickle(bytes);
  REQUIRE(pickle.has_value());
  CHECK(pickle->length() == bytes.size());
  const auto& root = pickle->root();
  REQUIRE(root.type == Type::kDict);
  const auto& list = pickle->at(pickle->find(root, "a"));
  REQUIRE(list.items.size() == 3);
  CHECK(pickle->at(list.items[1]).integer == -2);
  CHECK(pickle->at(list.items[2]).integer == std::int64_t{1} << 40);
  const auto& tuple = pickle->at(pickle->find(root, "b"));
  REQUIRE(tuple.type == Type::kTuple);
  CHECK(pickle->at(tuple.items[0]).real == 1.5);
  CHECK(pickle->at(tuple.items[2]).type == Type::kBool);
}

TEST_CASE("nothing that a pickle asks for is called") {
  const auto pickle = read_pickle("cos\nsystem\n(S'rm -rf /'\ntR.");
  REQUIRE(pickle.has_value());
  CHECK(pickle->root().type == Type::kCall);
  CHECK(pickle->globals() == std::vector<std::string>{"os.system"});
  CHECK(pickle->at(pickle->at(pickle->root().items[1]).items[0]).text == "rm -rf /");
}

TEST_CASE("a broken pickle is told by its byte") {
  const auto message = [](const std::string& bytes) {
    const auto pickle = read_pickle(bytes);
    return pickle.has_value() ? std::string() : pickle.error().message;
  };
  CHECK(message("") == "byte 0: is cut off");
  CHECK(message("\x80\x02]") == "byte 3: is cut off");
  CHECK(message("X\xff\xff\xff\x7f") == "byte 0: is cut off");
  CHECK(message("\x8e\xff\xff\xff\xff\xff\xff\xff\xffx") == "byte 0: is cut off");
  CHECK(message("R.") == "byte 0: pops an empty stack");
  CHECK(message("h\x05.") == "byte 0: reads a memo entry that was never stored");
  CHECK(message("t.") == "byte 0: needs a mark, but there is none");
  CHECK(message("K\x01\xff.") == "byte 2: 0xff is not a pickle opcode");
  CHECK(message("}K\x01\x85s.") != "");
  CHECK(message("I12x\n.") == "byte 0: has an invalid number");
}

TEST_CASE("a pickle that doubles itself costs its own size") {
  std::string bytes = "\x80\x02]q\x00"s;
  for (int i = 0; i < 60; ++i) bytes += "(h\x00h\x00tq\x00"s;
  bytes += '.';
  const auto pickle = read_pickle(bytes);
  REQUIRE(pickle.has_value());
  CHECK(pickle->size() == 61);
}

TEST_CASE("what is too much is refused") {
  const auto pickle = read_pickle(std::string(1000, ']') + ".", {.max_objects = 100});
  REQUIRE_FALSE(pickle.has_value());
  CHECK(pickle.error().code == base::ErrorCode::kBudget);
}

TEST_CASE("any bytes are read or refused") {
  std::minstd_rand random(3);
  static constexpr std::string_view kOpcodes =
      "(.012FIJKLMNPQRSTUVXabcdeghijlopqrstu})]\x80\x81\x85\x86\x87\x88\x89\x8a\x8c\x93\x94";
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes;
    for (int i = 0; i < 24; ++i)
      bytes += random() % 4 == 0 ? static_cast<char>(random() % 256)
                                 : kOpcodes[random() % kOpcodes.size()];
    const auto pickle = read_pickle(bytes + "\n.");
    if (pickle) CHECK(pickle->length() <= bytes.size() + 2);
  }
}

TEST_CASE("names of types") {
  using checkpoint::dtype_named;
  CHECK(dtype_named("torch.FloatStorage") == "float32");
  CHECK(dtype_named("torch.cuda.HalfStorage") == "float16");
  CHECK(dtype_named("torch.storage.UntypedStorage") == "uint8");
  CHECK(dtype_named("torch.float8_e5m2") == "float8_e5m2");
  CHECK(dtype_named("BF16") == "bfloat16");
  CHECK(dtype_named("torch.nn.Linear").empty());
  CHECK(checkpoint::element_size("complex64") == 8);
  CHECK(checkpoint::element_size("float31") == 0);
  CHECK(checkpoint::is_dangerous("posix.system"));
  CHECK(checkpoint::is_dangerous("builtins.eval"));
  CHECK_FALSE(checkpoint::is_dangerous("builtins.set"));
  CHECK_FALSE(checkpoint::is_dangerous("ossify.net.Model"));
}

}  // namespace
}  // namespace torchport
