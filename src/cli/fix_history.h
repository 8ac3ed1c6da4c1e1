// Where `fix` keeps the journals of a tree, and that one `fix` of a user writes at a time.
#pragma once

#include <string>

#include "base/result.h"

namespace torchport::cli {

// Holds the right to write: no other `fix` of this user does meanwhile.
class FixHistory {
 public:
  // Waits until it is this process's turn, and says so. Fails with kIo if there is no folder for
  // the journals that is this user's own, and with kUsage if Ctrl-C ends the wait.
  [[nodiscard]] static base::Result<FixHistory> of_tree(const std::string& root);
  FixHistory(FixHistory&& other) noexcept;
  FixHistory& operator=(FixHistory&&) = delete;
  FixHistory(const FixHistory&) = delete;
  FixHistory& operator=(const FixHistory&) = delete;
  ~FixHistory();

  // The folder of the journals of the tree.
  [[nodiscard]] const std::string& state() const { return state_; }

 private:
  FixHistory(std::string state, int lock) : state_(std::move(state)), lock_(lock) {}

  std::string state_;
  int lock_;
};

}  // namespace torchport::cli
