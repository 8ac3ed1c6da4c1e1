// Shows the memory of virtual devices to another process, `torchport top`.
//
// A real device's memory is seen from everywhere, by the driver. That of a virtual device is
// counted in the process that uses it. If the variable kAccountsVariable names a folder, each
// process has a file there that is mapped into its memory, so that a change of a figure is one
// store.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/file_system.h"

namespace torchport::device {

inline constexpr const char* kAccountsVariable = "TORCHPORT_ACCOUNTS";

struct Account {
  std::string name;         // "cuda:0"
  std::uint64_t total = 0;  // bytes
  std::uint64_t used = 0;   // bytes that the process has reserved
};

// The file of one process. It is left behind at the end; the reader owns the folder.
class PublishedAccounts {
 public:
  using Figure = std::atomic<std::uint64_t>;

  // Makes the file; null if that fails, because a program does not end for it. `accounts` are the
  // devices; their `used` is 0.
  [[nodiscard]] static std::unique_ptr<PublishedAccounts> make(
      const std::string& folder, const std::vector<Account>& accounts);

  // Where the bytes in use of a device are to be stored. Valid until the process ends.
  [[nodiscard]] Figure* used(std::size_t device) const;

 private:
  explicit PublishedAccounts(void* page) : page_(page) {}
  void* page_;
};

// The accounts of all processes that have a file in the folder. Files that are none are left out.
[[nodiscard]] std::vector<std::pair<pid_t, std::vector<Account>>> read_accounts(
    const base::FileSystem& files, const std::string& folder);

}  // namespace torchport::device
