// Ends a fix at every moment at which it changes something on disk, on a file system in memory.
#include "source/project/undo.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "source/project/journal.h"

namespace torchport::project {
namespace {

struct Killed {};

const std::vector<Change>& changes() {
  static const std::vector<Change> kChanges{{"p/new.py", "", "made", 0644, true},
                                            {"a.py", "old a", "new a", 0644},
                                            {"p/b.py", "old b", "new b", 0600},
                                            {"p/c d.py", "old c", "new c", 0755}};
  return kChanges;
}

void add_files(base::MemoryFileSystem& fs) {
  for (const Change& change : changes())
    if (!change.created) fs.add(change.path, change.before);
}

// Kills whatever runs before the n-th change of the disk from now on; 0 never.
void kill_before(base::MemoryFileSystem& fs, int n) {
  fs.before_each_change([n, seen = 0]() mutable {
    // Nothing that catches exceptions may outlive it.
    // NOLINTNEXTLINE(bugprone-std-exception-baseclass)
    if (++seen == n) throw Killed{};
  });
}

bool has_partial(const base::MemoryFileSystem& fs) {
  for (const char* folder : {".", "p", ".torchport"}) {
    const auto entries = fs.list(folder).value();
    for (const auto& entry : entries) {
      if (entry.name.starts_with('.') && entry.name.find("torchport-") != std::string::npos)
        return true;
    }
  }
  return false;
}

// Whether the created file is there, whole.
bool is_made(const base::MemoryFileSystem& fs) {
  const auto now = fs.read(changes().front().path);
  if (now) CHECK(*now == changes().front().after);
  return now.has_value();
}

void check_old_or_new(const base::MemoryFileSystem& fs) {
  const bool made = is_made(fs);
  for (const Change& change : changes()) {
    if (change.created) continue;
    const auto now = fs.read(change.path);
    REQUIRE(now.has_value());
    CHECK((*now == change.before || (made && *now == change.after)));
  }
}

void check_all_old(const base::MemoryFileSystem& fs) {
  CHECK_FALSE(is_made(fs));
  for (const Change& change : changes())
    if (!change.created) CHECK(fs.read(change.path).value() == change.before);
}

// The changes of the disk that a whole run makes.
template <class Work>
int changes_of_disk(base::MemoryFileSystem& fs, const Work& work) {
  int seen = 0;
  fs.before_each_change([&] { ++seen; });
  work();
  fs.before_each_change({});
  return seen;
}

TEST_CASE("a fix that is killed at any moment leaves whole files, and undo restores them") {
  base::MemoryFileSystem whole;
  add_files(whole);
  const int moments = changes_of_disk(
      whole, [&] { REQUIRE(write_changes(whole, ".torchport", changes()).has_value()); });
  CHECK(moments >= 7);
  CHECK_FALSE(has_partial(whole));
  for (int moment = 1; moment <= moments; ++moment) {
    CAPTURE(moment);
    base::MemoryFileSystem fs;
    add_files(fs);
    kill_before(fs, moment);
    CHECK_THROWS_AS((void)write_changes(fs, ".torchport", changes()), Killed);
    fs.before_each_change({});
    check_old_or_new(fs);

    base::MemoryFileSystem undone = fs;
    const auto result = undo(undone, ".torchport");
    if (result) {
      CHECK(result->problems.empty());
    } else {
      CHECK(result.error().code == base::ErrorCode::kUsage);
    }
    check_all_old(undone);
    REQUIRE(recover(undone, ".torchport").has_value());
    CHECK_FALSE(has_partial(undone));

    const bool was_done = journals_of(fs, ".torchport").size() == 1 &&
                          journals_of(fs, ".torchport")[0].state == JournalState::kDone;
    const auto recovered = recover(fs, ".torchport");
    REQUIRE(recovered.has_value());
    CHECK(recovered->problems.empty());
    CHECK_FALSE(has_partial(fs));
    if (was_done) {
      CHECK(is_made(fs));
    } else {
      check_all_old(fs);
      CHECK(journals_of(fs, ".torchport").empty());
    }
    // The next run is whole, and one undo gives every original back.
    if (!was_done) REQUIRE(write_changes(fs, ".torchport", changes()).has_value());
    const auto last = undo(fs, ".torchport");
    REQUIRE(last.has_value());
    CHECK(last->problems.empty());
    CHECK(journals_of(fs, ".torchport").empty());
    check_all_old(fs);
  }
}

TEST_CASE("a recovery that is killed at any moment can be repeated") {
  for (int first = 1;; ++first) {
    base::MemoryFileSystem killed;
    add_files(killed);
    kill_before(killed, first);
    try {
      (void)write_changes(killed, ".torchport", changes());
      break;  // it was not killed
    } catch (const Killed&) {
      killed.before_each_change({});
    }
    base::MemoryFileSystem whole = killed;
    const int moments =
        changes_of_disk(whole, [&] { REQUIRE(recover(whole, ".torchport").has_value()); });
    for (int moment = 1; moment <= moments; ++moment) {
      CAPTURE(first);
      CAPTURE(moment);
      base::MemoryFileSystem fs = killed;
      kill_before(fs, moment);
      CHECK_THROWS_AS((void)recover(fs, ".torchport"), Killed);
      fs.before_each_change({});
      check_old_or_new(fs);
      REQUIRE(recover(fs, ".torchport").has_value());
      CHECK_FALSE(has_partial(fs));
      CHECK(is_made(fs) == is_made(whole));
      CHECK(fs.read("a.py").value() == whole.read("a.py").value());
    }
  }
}

TEST_CASE("runs are undone one by one, the last first") {
  base::MemoryFileSystem fs;
  fs.add("a.py", "0");
  for (const char* step : {"01", "12", "23"}) {
    const std::string before(1, step[0]);
    const std::string after(1, step[1]);
    REQUIRE(write_changes(fs, ".torchport", {{"a.py", before, after, 0644}}).has_value());
  }
  for (const std::size_t left : {2U, 1U, 0U}) {
    const auto undone = undo(fs, ".torchport");
    REQUIRE(undone.has_value());
    CHECK(journals_of(fs, ".torchport").size() == left);
    CHECK(fs.read("a.py").value() == std::to_string(left));
  }
  CHECK(undo(fs, ".torchport").error().code == base::ErrorCode::kUsage);
}

TEST_CASE("a run whose files were deleted or edited since does not hide the runs before it") {
  base::MemoryFileSystem fs;
  for (const char* name : {"a.py", "b.py", "c.py"}) fs.add(name, "0");
  REQUIRE(write_changes(fs, ".torchport", {{"a.py", "0", "1", 0644}}).has_value());
  REQUIRE(write_changes(fs, ".torchport", {{"b.py", "0", "1", 0644}, {"c.py", "0", "1", 0644}})
              .has_value());
  REQUIRE(fs.remove("b.py").has_value());
  REQUIRE(fs.write_atomic("c.py", "mine", 0644).has_value());
  const auto stays = undo(fs, ".torchport");
  REQUIRE(stays.has_value());
  CHECK(stays->problems.size() == 1);
  CHECK(stays->edited == 1);
  CHECK(journals_of(fs, ".torchport").size() == 2);
  const auto passed = undo(fs, ".torchport", 1, true);
  REQUIRE(passed.has_value());
  CHECK(passed->problems.empty());
  CHECK(passed->notes.size() == 2);
  CHECK(fs.read("c.py").value() == "mine");
  CHECK(fs.status("b.py", false).type == base::FileType::kMissing);
  REQUIRE(undo(fs, ".torchport").has_value());
  CHECK(fs.read("a.py").value() == "0");
}

TEST_CASE("the journals of so many runs are kept") {
  base::MemoryFileSystem fs;
  fs.add("a.py", "0");
  for (int i = 0; i < 60; ++i)
    REQUIRE(
        write_changes(fs, ".torchport", {{"a.py", std::to_string(i), std::to_string(i + 1), 0644}})
            .has_value());
  const auto kept = journals_of(fs, ".torchport");
  CHECK(kept.size() == 50);
  CHECK(kept.back().number == 60);
}

TEST_CASE("a damaged journal restores nothing, and says so") {
  std::string deep;
  deep.resize(10'000'000, '\x81');
  const std::string long_array = "\x9b\x7f\xff\xff\xff\xff\xff\xff\xff";
  base::MemoryFileSystem good;
  add_files(good);
  REQUIRE(write_changes(good, ".torchport", changes()).has_value());
  const std::string path = journals_of(good, ".torchport").at(0).path;
  const std::string whole = good.read(path).value();
  std::vector<std::string> contents{"", deep, long_array, "\xa1", "{}", whole + "x"};
  for (std::size_t size = 0; size < whole.size(); size += 7)
    contents.push_back(whole.substr(0, size));
  for (const std::string& content : contents) {
    base::MemoryFileSystem fs = good;
    fs.add(path, content);
    const auto undone = undo(fs, ".torchport");
    REQUIRE_FALSE(undone.has_value());
    CHECK(undone.error().code == base::ErrorCode::kIo);
    CHECK(undone.error().path == path);
    CHECK(fs.read("a.py").value() == "new a");
  }
}

TEST_CASE("an undo that is killed at any moment can be repeated") {
  const auto fixed = [] {
    base::MemoryFileSystem fs;
    add_files(fs);
    REQUIRE(write_changes(fs, ".torchport", changes()).has_value());
    return fs;
  };
  base::MemoryFileSystem whole = fixed();
  const int moments =
      changes_of_disk(whole, [&] { REQUIRE(undo(whole, ".torchport").has_value()); });
  for (int moment = 1; moment <= moments; ++moment) {
    CAPTURE(moment);
    base::MemoryFileSystem fs = fixed();
    kill_before(fs, moment);
    CHECK_THROWS_AS((void)undo(fs, ".torchport"), Killed);
    fs.before_each_change({});
    check_old_or_new(fs);
    const auto again = undo(fs, ".torchport");
    REQUIRE(again.has_value());
    CHECK(again->problems.empty());
    check_all_old(fs);
    CHECK_FALSE(has_partial(fs));
  }
}

TEST_CASE("nothing is written without the files that are created") {
  base::MemoryFileSystem fs;
  add_files(fs);
  fs.add("p/new.py", "of somebody");
  const auto written = write_changes(fs, ".torchport", changes());
  REQUIRE(written.has_value());
  CHECK(written->files.empty());
  CHECK(written->problems.size() == changes().size());
  CHECK(fs.read("a.py").value() == "old a");
  CHECK(fs.read("p/new.py").value() == "of somebody");
  CHECK_FALSE(has_partial(fs));
}

TEST_CASE("a created file stays as long as a file that may need it") {
  base::MemoryFileSystem fs;
  add_files(fs);
  REQUIRE(write_changes(fs, ".torchport", changes()).has_value());
  fs.add("a.py", "edited since");
  const auto undone = undo(fs, ".torchport");
  REQUIRE(undone.has_value());
  CHECK(undone->problems.size() == 1);
  CHECK(is_made(fs));
  CHECK(fs.read("p/b.py").value() == "old b");
  fs.add("a.py", "old a");
  REQUIRE(undo(fs, ".torchport").has_value());
  check_all_old(fs);
}

TEST_CASE("a disk that is full from any write on leaves whole files and nothing else") {
  for (int n = 1; n <= 6; ++n) {
    CAPTURE(n);
    base::MemoryFileSystem fs;
    add_files(fs);
    fs.fail_writes_from(n);
    const auto written = write_changes(fs, ".torchport", changes());
    check_old_or_new(fs);
    CHECK_FALSE(has_partial(fs));
    if (!written) check_all_old(fs);
  }
}

TEST_CASE("the number of waits for the disk does not grow with the files") {
  const auto waits = [](int files) {
    base::MemoryFileSystem fs;
    std::vector<Change> many;
    for (int i = 0; i < files; ++i) {
      many.push_back({"m" + std::to_string(i) + ".py", "old", "new", 0644});
      fs.add(many.back().path, "old");
    }
    REQUIRE(write_changes(fs, ".torchport", many).has_value());
    const int written = fs.syncs();
    REQUIRE(undo(fs, ".torchport").has_value());
    return std::pair(written, fs.syncs() - written);
  };
  CHECK(waits(300) == waits(2));
  CHECK(waits(300).first <= 4);
}

}  // namespace
}  // namespace torchport::project
