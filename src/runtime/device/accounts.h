// Shows the memory of virtual devices to other processes: to `torchport top` and to nvidia-smi.
//
// A real device's memory is seen from everywhere, by the driver. That of a virtual device is
// counted in the process that uses it. Each process has a file for it that is mapped into its
// memory, so that a change of a figure is one store: a file without a name (memfd_create), which
// others find among the process's open files and which ends with it, or one in the folder that
// the variable kAccountsVariable names. Processes of two `torchport run` have different devices, so
// a file without a name says in kRunVariable's words which one it is of.
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
// `torchport run` sets it to a word that no other run has; without a slash or a space.
inline constexpr const char* kRunVariable = "TORCHPORT_RUN";

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

  // Makes the file without a name, for other processes of the same run; null if that fails.
  [[nodiscard]] static std::unique_ptr<PublishedAccounts> make_unnamed(
      const std::vector<Account>& accounts);

  // Where the bytes in use of a device are to be stored. Valid until the process ends.
  [[nodiscard]] Figure* used(std::size_t device) const;

 private:
  explicit PublishedAccounts(void* page) : page_(page) {}
  // Maps the file with the accounts; null if that fails.
  [[nodiscard]] static void* page_in(int file, const std::vector<Account>& accounts);
  void* page_;
};

// The accounts of all processes that have a file in the folder. Files that are none are left out.
[[nodiscard]] std::vector<std::pair<pid_t, std::vector<Account>>> read_accounts(
    const base::FileSystem& files, const std::string& folder);

// The accounts of all processes of this process's run that have a file without a name, by number.
// Linux only.
[[nodiscard]] std::vector<std::pair<pid_t, std::vector<Account>>> accounts_of_run();

}  // namespace torchport::device
