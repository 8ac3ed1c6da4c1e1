// Where `fix` keeps the journals of a tree, and that one `fix` of a user writes at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace torchport::cli {

// The tree whose history a run of these paths belongs to: the project's root, or the folder around
// it that has all the paths, if some are outside of it.
[[nodiscard]] std::string tree_of(const std::string& root, const std::vector<std::string>& paths);

// The folder with the journals of a tree.
struct TreeHistory {
  std::string tree;  // absolute, without links
  std::string state;
};

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
  [[nodiscard]] const std::string& state() const { return own_.state; }
  // The tree, absolute and without links.
  [[nodiscard]] const std::string& tree() const { return own_.tree; }
  // This tree's history, and those of the trees that lie in it or around it: a file may have been
  // fixed as a part of each.
  [[nodiscard]] std::vector<TreeHistory> related() const;
  // Those of trees that are not where they were: moved, renamed or deleted.
  [[nodiscard]] std::vector<TreeHistory> gone() const;

 private:
  // All but this tree's own.
  [[nodiscard]] std::vector<TreeHistory> others() const;

  FixHistory(std::string folder, int lock) : folder_(std::move(folder)), lock_(lock) {}

  std::string folder_;  // of all histories of this user
  TreeHistory own_{};
  int lock_;
};

}  // namespace torchport::cli
