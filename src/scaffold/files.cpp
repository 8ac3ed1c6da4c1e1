#include "scaffold/files.h"

#include <fmt/format.h>

namespace torchport::scaffold {

std::string_view to_text(Written written) {
  switch (written) {
    case Written::kNew:
      return "wrote";
    case Written::kReplaced:
      return "replaced";
    case Written::kSame:
      return "unchanged";
  }
  return {};
}

base::Result<std::vector<Written>> write_files(base::FileSystem& fs, const std::vector<File>& files,
                                               bool force) {
  std::vector<Written> written;
  std::string taken;
  for (const File& file : files) {
    const auto type = fs.status(file.path, false).type;
    if (type == base::FileType::kMissing) {
      written.push_back(Written::kNew);
      continue;
    }
    if (type == base::FileType::kDirectory)
      return base::fail(base::ErrorCode::kUsage, "is a folder", file.path);
    const auto there = fs.read(file.path);
    const bool same = there && *there == file.content;
    written.push_back(same ? Written::kSame : Written::kReplaced);
    if (!same) taken += fmt::format("{}{}", taken.empty() ? "" : ", ", file.path);
  }
  if (!taken.empty() && !force)
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("{} already there: --force overwrites, --output DIR writes to "
                                  "another folder, --stdout only prints",
                                  taken + (taken.find(',') == std::string::npos ? " is" : " are")));
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (written[i] == Written::kSame) continue;
    const std::string folder(base::parent_path(files[i].path));
    if (auto made = fs.make_directories(folder); !made)
      return tl::unexpected<base::Error>(made.error());
    if (auto done = fs.write_atomic(files[i].path, files[i].content, 0644); !done)
      return tl::unexpected<base::Error>(done.error());
  }
  return written;
}

}  // namespace torchport::scaffold
