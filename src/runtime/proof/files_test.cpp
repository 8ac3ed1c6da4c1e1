#include "runtime/proof/files.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/file_system.h"
#include "base/temporary_folder.h"

namespace torchport {
namespace {

using proof::FilesAre;

class Pair {
 public:
  Pair() : folder_(std::move(*base::TemporaryFolder::make("torchport-files"))) {}

  proof::FileComparison of(const std::string& first, const std::string& second) {
    base::FileSystem& files = base::real_file_system();
    REQUIRE(files.create(folder_.file(fmt::format("{}", ++count_)), first, 0644).has_value());
    REQUIRE(files.create(folder_.file(fmt::format("{}", ++count_)), second, 0644).has_value());
    return proof::compare_files(folder_.file(fmt::format("{}", count_ - 1)),
                                folder_.file(fmt::format("{}", count_)), 3.5e-4);
  }
  proof::FileComparison with_missing(const std::string& first) {
    REQUIRE(base::real_file_system().create(folder_.file("x"), first, 0644).has_value());
    return proof::compare_files(folder_.file("x"), folder_.file("none"), 3.5e-4);
  }

 private:
  base::TemporaryFolder folder_;
  int count_ = 0;
};

std::string bytes_of(const std::vector<float>& numbers) {
  std::string bytes(numbers.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

// A file of safetensors with one tensor.
std::string weights(const std::vector<float>& numbers, const char* name = "w") {
  const std::string header =
      fmt::format(R"({{"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{}]}}}})", name,
                  numbers.size(), numbers.size() * sizeof(float));
  std::string file(sizeof(std::uint64_t), '\0');
  const std::uint64_t length = header.size();
  std::memcpy(file.data(), &length, sizeof(length));
  return file + header + bytes_of(numbers);
}

std::string array(const std::vector<float>& numbers, const char* type = "<f4") {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}\n",
                                   type, numbers.size());
  std::string file("\x93NUMPY\x01", 7);
  file += '\0';
  file += static_cast<char>(header.size());
  file += '\0';
  return file + header + bytes_of(numbers);
}

TEST_CASE("files of text are compared as output is") {
  Pair pair;
  CHECK(pair.of("loss 0.50001\n", "loss 0.5\n").files == FilesAre::kTheSame);
  CHECK(pair.of("loss 0.5\n", "loss 0.6\n").words ==
        "differs at line 1: \"loss 0.6\" instead of \"loss 0.5\"");
  CHECK(pair.with_missing("a").words == "is missing from the second run");
}

TEST_CASE("checkpoints are compared by their tensors") {
  Pair pair;
  CHECK(pair.of(weights({1, 2, 3}), weights({1.0001F, 2, 3})).files == FilesAre::kTheSame);
  const auto other = pair.of(weights({1, 2, 3}), weights({1, 2, 4}));
  CHECK(other.files == FilesAre::kDifferent);
  CHECK(other.words == "differs: w by 0.14, where 0.00035 is allowed");
  // The means are the same.
  CHECK(pair.of(weights({1, 2, 3}), weights({3, 2, 1})).files == FilesAre::kDifferent);
  CHECK(pair.of(weights({1, 2}), weights({1, 2, 3})).files == FilesAre::kDifferent);
  CHECK(pair.of(weights({1, 2}), weights({1, 2}, "v")).words == "has v only there");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(pair.of(weights({1, nan}), weights({1.00001F, nan})).files == FilesAre::kTheSame);
  CHECK(pair.of(weights({1, 2}), weights({1, nan})).files == FilesAre::kDifferent);
}

TEST_CASE("arrays of NumPy are compared by their numbers") {
  Pair pair;
  CHECK(pair.of(array({1, 2}), array({1.0001F, 2})).files == FilesAre::kTheSame);
  CHECK(pair.of(array({1, 2}), array({1, 3})).files == FilesAre::kDifferent);
  CHECK(pair.of(array({1, 2}), array({1, 2.5F}, ">f4")).files == FilesAre::kNotComparable);
}

TEST_CASE("other files are the same only if their bytes are") {
  Pair pair;
  const std::string one("\0\1\2", 3);
  CHECK(pair.of(one, one).files == FilesAre::kTheSame);
  CHECK(pair.of(one, std::string("\0\1\3", 3)).files == FilesAre::kNotComparable);
}

}  // namespace
}  // namespace torchport
