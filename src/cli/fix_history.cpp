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

base::Result<FixHistory> FixHistory::of_tree(const std::string& root) {
  const auto folder = history_folder();
  if (!folder) return tl::unexpected<base::Error>(folder.error());
  const std::string path = base::join_path(*folder, "lock");
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0)
    return base::fail(base::ErrorCode::kIo, std::generic_category().message(errno), path);
  FixHistory history({}, lock);
  for (bool told = false; ::flock(lock, LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return base::fail(base::ErrorCode::kIo, std::generic_category().message(errno), path);
    if (!std::exchange(told, true))
      base::tell("torchport: another `torchport fix` is at work; waiting for its end\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (interrupted())
      return base::fail(base::ErrorCode::kUsage, "interrupted; nothing was written");
  }
  const std::string tree = base::real_file_system().canonical(root).value_or(root);
  auto state = base::private_folder(base::join_path(*folder, project::digest(tree)));
  if (!state) return tl::unexpected<base::Error>(state.error());
  history.state_ = std::move(*state);
  return history;
}

FixHistory::FixHistory(FixHistory&& other) noexcept
    : state_(std::move(other.state_)), lock_(std::exchange(other.lock_, -1)) {}

FixHistory::~FixHistory() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace torchport::cli
