#include "runtime/device/accounts.h"

#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/temporary_folder.h"
#include "runtime/device/memory_model.h"

namespace torchport::device {

TEST_CASE("what a process reserves is seen in its account at once, and other files are none") {
  const base::TemporaryFolder folder;
  const std::string path = folder.path().string();
  MemoryModel memory(0x1000, std::uint64_t{1} << 30U);
  const auto published =
      PublishedAccounts::make(path, {{"cuda:0", memory.total(), 0}, {"cuda:1", 7, 0}});
  REQUIRE(published != nullptr);
  memory.publish(published->used(0));
  std::ofstream(folder.file("123")) << "too short";
  std::ofstream(folder.file("notes.txt")) << "no process";

  OutOfMemory failure;
  const auto block = memory.allocate(std::uint64_t{3} << 20U, 0, failure);
  REQUIRE(block.has_value());
  const auto& files = base::real_file_system();
  auto all = read_accounts(files, path);
  REQUIRE(all.size() == 1);
  CHECK(all[0].first == getpid());
  REQUIRE(all[0].second.size() == 2);
  CHECK(all[0].second[0].name == "cuda:0");
  CHECK(all[0].second[0].total == memory.total());
  CHECK(all[0].second[0].used == std::uint64_t{20} << 20U);  // a segment of the large pool
  CHECK(all[0].second[1].used == 0);

  memory.free(*block);
  memory.empty_cache();
  all = read_accounts(files, path);
  CHECK(all[0].second[0].used == 0);
  memory.publish(nullptr);
}

TEST_CASE("an account without a name of a file is seen as long as the process has it open") {
  const auto published = PublishedAccounts::make_unnamed({{"cuda:0", 9, 0}, {"cuda:1", 7, 0}});
  REQUIRE(published != nullptr);
  published->used(1)->store(5);
  bool seen = false;
  for (const auto& [process, accounts] : accounts_of_run()) {
    if (process != getpid()) continue;
    REQUIRE_FALSE(seen);
    seen = true;
    REQUIRE(accounts.size() == 2);
    CHECK(accounts[0].total == 9);
    CHECK(accounts[1].used == 5);
  }
  CHECK(seen);
  setenv(kRunVariable, "another", 1);
  for (const auto& [process, accounts] : accounts_of_run()) CHECK(process != getpid());
  unsetenv(kRunVariable);
}

TEST_CASE("a folder that cannot be written to or read gives no account") {
  CHECK(PublishedAccounts::make("/nowhere", {{"cuda:0", 1, 0}}) == nullptr);
  CHECK(read_accounts(base::real_file_system(), "/nowhere").empty());
}

}  // namespace torchport::device
