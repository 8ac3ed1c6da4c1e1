// Brings together what the files of a project say about each other's functions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/project/check.h"
#include "source/project/mentions.h"

namespace torchport::project {

// The packed facts of the bytes with the key `content` from the cache, and into it. cached_facts()
// returns null if they are not there.
[[nodiscard]] const std::string* cached_facts(const CacheKey& content, const CheckOptions& options);
void cache_facts(const CacheKey& content, const CheckOptions& options,
                 const flow::FileFacts& facts);

// The facts of a file; none if nothing in it can be about devices, or it cannot be understood.
[[nodiscard]] std::optional<flow::FileFacts> facts_of(const base::FileSystem& fs,
                                                      const std::string& path,
                                                      const CheckOptions& options);
// Only what a file imports, also if nothing in it can be about devices: it may connect two files
// where that matters (Summary::chooses_devices_late).
[[nodiscard]] std::optional<flow::FileFacts> imports_of(const base::FileSystem& fs,
                                                        const UnreadFile& file,
                                                        const CheckOptions& options);
struct ProjectFacts {
  std::vector<flow::FileOfProject> files;
  // Files that mention neither torch nor CUDA, and those that could not be understood.
  std::vector<UnreadFile> not_parsed;
};

// Adds the facts of options.rest(), less `files`. A file that cannot be read or parsed counts as
// one that was not parsed.
void add_rest(const base::FileSystem& fs, const std::vector<std::string>& files,
              const CheckOptions& options, ProjectFacts& known);

// Joins all facts. If a file that was not parsed mentions a function, it may call it. If a function
// sets CUDA_VISIBLE_DEVICES, the imports of these files are read, too: they connect others.
[[nodiscard]] std::shared_ptr<const flow::Summary> join(const base::FileSystem& fs,
                                                        ProjectFacts facts,
                                                        const CheckOptions& options);

}  // namespace torchport::project
