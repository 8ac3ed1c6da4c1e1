#include "runtime/device/accounts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <new>
#include <string_view>

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

}  // namespace

std::unique_ptr<PublishedAccounts> PublishedAccounts::make(const std::string& folder,
                                                           const std::vector<Account>& accounts) {
  const std::string path = folder + "/" + std::to_string(getpid());
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  void* page = MAP_FAILED;
  if (ftruncate(file, sizeof(Page)) == 0)
    page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (page == MAP_FAILED) return nullptr;
  auto* const written = new (page) Page{};
  written->count = std::min(accounts.size(), kMost);
  for (std::size_t i = 0; i < written->count; ++i) {
    Entry& entry = written->entries.at(i);
    accounts[i].name.copy(entry.name.data(), kLongestName - 1);
    entry.total = accounts[i].total;
  }
  kMark.copy(written->mark.data(), kMark.size());
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
    pid_t process = 0;
    const char* const end = entry.name.data() + entry.name.size();
    if (std::from_chars(entry.name.data(), end, process).ptr != end) continue;
    const auto bytes = files.read(folder + "/" + entry.name);
    if (!bytes) continue;
    if (auto accounts = accounts_in(*bytes); !accounts.empty())
      all.emplace_back(process, std::move(accounts));
  }
  return all;
}

}  // namespace torchport::device
