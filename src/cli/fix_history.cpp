#include "cli/fix_history.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file_system.h"
#include "base/private_folder.h"
#include "base/tell.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "source/project/journal.h"

namespace torchport::cli {

namespace {

// The file of a history that says which tree it is of.
constexpr std::string_view kTreeFile = "tree";

// The first folder that can be this user's own: a container may have none that outlives it.
base::Result<std::string> history_folder() {
  if (const std::string state = base::state_folder(&environment); !state.empty()) {
    auto folder = base::private_folder(base::join_path(state, "undo"));
    if (folder || !environment("TORCHPORT_STATE_DIR").empty()) return folder;
  }
  auto temporary = base::private_temporary_folder();
  if (!temporary) return temporary;
  return base::private_folder(base::join_path(*temporary, "undo"));
}

}  // namespace

std::string tree_of(const std::string& root, const std::vector<std::string>& paths) {
  const base::FileSystem& fs = base::real_file_system();
  std::string tree = fs.canonical(root).value_or(root);
  for (const std::string& path : paths) {
    const std::string real = fs.canonical(path).value_or(path);
    if (!real.starts_with('/')) continue;
    while (!base::is_within(real, tree)) {
      const std::string above(base::parent_path(tree));
      tree = above.empty() ? "/" : above;
    }
  }
  return tree;
}

base::Result<FixHistory> FixHistory::of_tree(const std::string& root) {
  const auto folder = history_folder();
  if (!folder) return tl::unexpected<base::Error>(folder.error());
  const std::string path = base::join_path(*folder, "lock");
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0)
    return base::fail(base::ErrorCode::kIo, std::generic_category().message(errno), path);
  FixHistory history(*folder, lock);
  for (bool told = false; ::flock(lock, LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return base::fail(base::ErrorCode::kIo, std::generic_category().message(errno), path);
    if (!std::exchange(told, true))
      base::tell("torchport: another `torchport fix` is at work; waiting for its end\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (interrupted())
      return base::fail(base::ErrorCode::kUsage, "interrupted; nothing was written");
  }
  base::FileSystem& fs = base::real_file_system();
  history.own_.tree = fs.canonical(root).value_or(root);
  auto state = base::private_folder(base::join_path(*folder, project::digest(history.own_.tree)));
  if (!state) return tl::unexpected<base::Error>(state.error());
  history.own_.state = std::move(*state);
  const std::string name = base::join_path(history.own_.state, kTreeFile);
  if (fs.status(name, false).type == base::FileType::kMissing)
    if (auto done = fs.write_atomic(name, history.own_.tree, 0600); !done)
      return tl::unexpected<base::Error>(done.error());
  return history;
}

std::vector<TreeHistory> FixHistory::others() const {
  const base::FileSystem& fs = base::real_file_system();
  std::vector<TreeHistory> found;
  for (const base::DirectoryEntry& entry :
       fs.list(folder_).value_or(std::vector<base::DirectoryEntry>{})) {
    std::string state = base::join_path(folder_, entry.name);
    if (entry.type != base::FileType::kDirectory || state == own_.state) continue;
    if (auto tree = fs.read(base::join_path(state, kTreeFile)))
      found.push_back({std::move(*tree), std::move(state)});
  }
  return found;
}

std::vector<TreeHistory> FixHistory::related() const {
  std::vector<TreeHistory> found{own_};
  for (TreeHistory& one : others())
    if (base::is_within(one.tree, own_.tree) || base::is_within(own_.tree, one.tree))
      found.push_back(std::move(one));
  return found;
}

std::vector<TreeHistory> FixHistory::gone() const {
  const base::FileSystem& fs = base::real_file_system();
  std::vector<TreeHistory> found = others();
  std::erase_if(found, [&](const TreeHistory& one) {
    return fs.status(one.tree, false).type != base::FileType::kMissing;
  });
  return found;
}

FixHistory::FixHistory(FixHistory&& other) noexcept
    : folder_(std::move(other.folder_)),
      own_(std::move(other.own_)),
      lock_(std::exchange(other.lock_, -1)) {}

FixHistory::~FixHistory() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace torchport::cli
