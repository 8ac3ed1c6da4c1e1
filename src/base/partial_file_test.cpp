#include "base/partial_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;
using torchport::base::PartialFile;

namespace {

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "torchport-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }

  [[nodiscard]] std::string at(const char* name) const { return (path / name).string(); }
  [[nodiscard]] auto files() const {
    return std::distance(fs::directory_iterator(path), fs::directory_iterator());
  }

  fs::path path;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a partial file has its name when it is finished, not before") {
  const Folder folder;
  std::ofstream(folder.at("a")) << "old";
  auto file = PartialFile::create(folder.at("a"));
  REQUIRE(file);
  CHECK(file->write("ne", 2));
  CHECK(text_of(folder.at("a")) == "old");
  CHECK(file->write("w", 1));
  CHECK(file->finish(0640));
  CHECK(text_of(folder.at("a")) == "new");
  CHECK(folder.files() == 1);
  struct stat info {};
  REQUIRE(::stat(folder.at("a").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777U) == 0640);
}

TEST_CASE("a partial file that is not finished leaves nothing") {
  const Folder folder;
  {
    auto file = PartialFile::create(folder.at("a"));
    REQUIRE(file);
    CHECK(file->write("some", 4));
    const PartialFile moved = std::move(*file);
    CHECK(folder.files() == 1);
  }
  CHECK(folder.files() == 0);
}

TEST_CASE("two partial files of one path do not meet") {
  const Folder folder;
  auto one = PartialFile::create(folder.at("a"));
  auto two = PartialFile::create(folder.at("a"));
  REQUIRE(one);
  REQUIRE(two);
  CHECK(one->write("1", 1));
  CHECK(two->write("2", 1));
  CHECK(two->finish());
  CHECK(one->finish());
  CHECK(text_of(folder.at("a")) == "1");
  CHECK(folder.files() == 1);
}

TEST_CASE("a partial file says what it could not write") {
  const Folder folder;
  const auto nowhere = PartialFile::create(folder.at("no/a"));
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().path == folder.at("no/a"));
  CHECK(nowhere.error().message.find("No such file") != std::string::npos);

  fs::create_directory(folder.path / "taken");
  std::ofstream(folder.at("taken/x")) << "here";
  auto file = PartialFile::create(folder.at("taken"));
  REQUIRE(file);
  const auto finished = file->finish();
  REQUIRE_FALSE(finished);
  CHECK(finished.error().message.find("irectory") != std::string::npos);
}
