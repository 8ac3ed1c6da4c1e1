#include "base/private_folder.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace torchport::base {

Result<std::string> private_folder(const std::string& path) {
  std::string folder(path.empty() ? "." : path);
  for (std::size_t slash = folder.find('/', 1);; slash = folder.find('/', slash + 1)) {
    const std::string part = folder.substr(0, slash);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return fail(
          ErrorCode::kIo,
          fmt::format("cannot create the folder: {}", std::generic_category().message(errno)),
          part);
    if (slash == std::string::npos) break;
  }
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0)
    return fail(ErrorCode::kIo, std::generic_category().message(errno), folder);
  if (!S_ISDIR(info.st_mode))
    return fail(ErrorCode::kIo, "is no folder, so it is not used; remove it", folder);
  if (info.st_uid != ::geteuid())
    return fail(ErrorCode::kIo,
                fmt::format("belongs to another user (number {}), so it is not used; remove it",
                            info.st_uid),
                folder);
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(ErrorCode::kIo, "other users may write into it, so it is not used; `chmod go-w` it",
                folder);
  return folder;
}

Result<std::string> private_temporary_folder() {
  return private_folder(fmt::format("/tmp/torchport-{}", ::geteuid()));
}

}  // namespace torchport::base
