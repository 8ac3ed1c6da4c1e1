#include "base/partial_file.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary_folder.h"

namespace fs = std::filesystem;
using torchport::base::PartialFile;
using torchport::base::TemporaryFolder;

namespace {

std::ptrdiff_t files_in(const TemporaryFolder& folder) {
  return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a partial file has its name when it is finished, not before") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("a")) << "old";
  auto file = PartialFile::create(folder.file("a"));
  REQUIRE(file);
  CHECK(file->write("ne", 2));
  CHECK(text_of(folder.file("a")) == "old");
  CHECK(file->write("w", 1));
  CHECK(file->finish(0640));
  CHECK(text_of(folder.file("a")) == "new");
  CHECK(files_in(folder) == 1);
  struct stat info {};
  REQUIRE(::stat(folder.file("a").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777U) == 0640);
}

TEST_CASE("a partial file that is not finished leaves nothing") {
  const TemporaryFolder folder;
  {
    auto file = PartialFile::create(folder.file("a"));
    REQUIRE(file);
    CHECK(file->write("some", 4));
    const PartialFile moved = std::move(*file);
    CHECK(files_in(folder) == 1);
  }
  CHECK(files_in(folder) == 0);
}

TEST_CASE("two partial files of one path do not meet") {
  const TemporaryFolder folder;
  auto one = PartialFile::create(folder.file("a"));
  auto two = PartialFile::create(folder.file("a"));
  REQUIRE(one);
  REQUIRE(two);
  CHECK(one->write("1", 1));
  CHECK(two->write("2", 1));
  CHECK(two->finish());
  CHECK(one->finish());
  CHECK(text_of(folder.file("a")) == "1");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a partial file says what it could not write") {
  const TemporaryFolder folder;
  const auto nowhere = PartialFile::create(folder.file("no/a"));
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().path == folder.file("no/a"));
  CHECK(nowhere.error().message.find("No such file") != std::string::npos);

  fs::create_directory(folder.path() / "taken");
  std::ofstream(folder.file("taken/x")) << "here";
  auto file = PartialFile::create(folder.file("taken"));
  REQUIRE(file);
  const auto finished = file->finish();
  REQUIRE_FALSE(finished);
  CHECK(finished.error().message.find("irectory") != std::string::npos);
}
