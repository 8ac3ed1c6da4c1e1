#include "runtime/device/accounts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace torchport::device {

namespace {

constexpr std::size_t kLongestName = 16;
constexpr std::size_t kMost = 64;  // devices; c10 has no more
constexpr std::string_view kMark = "tp-acc-1";

struct Entry {
  std::array<char, kLongestName> name;
  std::uint64_t total;
  PublishedAccounts::Figure used;
};

struct Page {
  std::array<char, 8> mark;
  std::uint64_t count;
  std::array<Entry, kMost> entries;
};

static_assert(PublishedAccounts::Figure::is_always_lock_free);
static_assert(sizeof(PublishedAccounts::Figure) == sizeof(std::uint64_t));
static_assert(sizeof(Page) == 16 + kMost * (kLongestName + 16));

Account account_at(std::string_view bytes) {
  Account account;
  account.name = std::string(bytes.substr(0, kLongestName));
  account.name.erase(std::min(account.name.find('\0'), account.name.size()));
  std::memcpy(&account.total, bytes.data() + kLongestName, sizeof account.total);
  std::memcpy(&account.used, bytes.data() + kLongestName + sizeof account.total,
              sizeof account.used);
  return account;
}

std::vector<Account> accounts_in(std::string_view bytes) {
  std::vector<Account> accounts;
  if (bytes.size() != sizeof(Page) || !bytes.starts_with(kMark)) return accounts;
  std::uint64_t count = 0;
  std::memcpy(&count, bytes.data() + kMark.size(), sizeof count);
  constexpr std::size_t kBegin = kMark.size() + sizeof count;
  for (std::size_t i = 0; i < std::min<std::uint64_t>(count, kMost); ++i)
    accounts.push_back(account_at(bytes.substr(kBegin + i * sizeof(Entry), sizeof(Entry))));
  return accounts;
}

// The number of a process, if a text is one.
std::optional<pid_t> process_of(std::string_view text) {
  pid_t process = 0;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, process).ptr != end || text.empty()) return std::nullopt;
  return process;
}

// Has the number of the process, because a process that is forked has the open files of the other.
std::string unnamed_file(pid_t process) {
  const char* const run = std::getenv(kRunVariable);
  return "torchport-accounts-" + std::to_string(process) + "-" + (run == nullptr ? "" : run);
}

}  // namespace

void* PublishedAccounts::page_in(int file, const std::vector<Account>& accounts) {
  void* page = MAP_FAILED;
  if (ftruncate(file, sizeof(Page)) == 0)
    page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) return nullptr;
  auto* const written = new (page) Page{};
  written->count = std::min(accounts.size(), kMost);
  for (std::size_t i = 0; i < written->count; ++i) {
    Entry& entry = written->entries.at(i);
    accounts[i].name.copy(entry.name.data(), kLongestName - 1);
    entry.total = accounts[i].total;
  }
  kMark.copy(written->mark.data(), kMark.size());
  return page;
}

std::unique_ptr<PublishedAccounts> PublishedAccounts::make(const std::string& folder,
                                                           const std::vector<Account>& accounts) {
  const std::string path = folder + "/" + std::to_string(getpid());
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  void* const page = page_in(file, accounts);
  close(file);
  if (page == nullptr) return nullptr;
  return std::unique_ptr<PublishedAccounts>(new PublishedAccounts(page));
}

std::unique_ptr<PublishedAccounts> PublishedAccounts::make_unnamed(
    const std::vector<Account>& accounts) {
  const int file = memfd_create(unnamed_file(getpid()).c_str(), MFD_CLOEXEC);
  if (file < 0) return nullptr;
  void* const page = page_in(file, accounts);
  if (page == nullptr) {
    close(file);
    return nullptr;
  }
  // The file stays open: others read it in /proc/PID/fd.
  return std::unique_ptr<PublishedAccounts>(new PublishedAccounts(page));
}

PublishedAccounts::Figure* PublishedAccounts::used(std::size_t device) const {
  return device < kMost ? &static_cast<Page*>(page_)->entries.at(device).used : nullptr;
}

std::vector<std::pair<pid_t, std::vector<Account>>> read_accounts(const base::FileSystem& files,
                                                                  const std::string& folder) {
  std::vector<std::pair<pid_t, std::vector<Account>>> all;
  const auto entries = files.list(folder);
  if (!entries) return all;
  for (const auto& entry : *entries) {
    const auto process = process_of(entry.name);
    if (!process) continue;
    const auto bytes = files.read(folder + "/" + entry.name);
    if (!bytes) continue;
    if (auto accounts = accounts_in(*bytes); !accounts.empty())
      all.emplace_back(*process, std::move(accounts));
  }
  return all;
}

std::vector<std::pair<pid_t, std::vector<Account>>> accounts_of_run() {
  namespace fs = std::filesystem;
  std::vector<std::pair<pid_t, std::vector<Account>>> all;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const auto process = process_of(entry->path().filename().string());
    if (!process) continue;
    const std::string wanted = "/memfd:" + unnamed_file(*process) + " ";  // and "(deleted)"
    std::error_code closed;  // another user's process, or one that has just ended
    for (fs::directory_iterator file(entry->path() / "fd", closed); !closed && file != end;
         file.increment(closed)) {
      std::error_code gone;
      if (!fs::read_symlink(file->path(), gone).string().starts_with(wanted)) continue;
      const auto bytes = base::real_file_system().read(file->path().string());
      if (!bytes) continue;
      if (auto accounts = accounts_in(*bytes); !accounts.empty())
        all.emplace_back(*process, std::move(accounts));
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

}  // namespace torchport::device
