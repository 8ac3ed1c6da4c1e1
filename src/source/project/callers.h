// Brings together what the files of a project say about each other's functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "source/project/check.h"

namespace torchport::project {

// The facts of one content from the cache, and into it. cached_facts() returns false if they are
// not there.
[[nodiscard]] bool cached_facts(const std::string& source, const CheckOptions& options,
                                flow::FileFacts& facts);
void cache_facts(const std::string& source, const CheckOptions& options,
                 const flow::FileFacts& facts);

struct ProjectFacts {
  std::vector<flow::FileOfProject> files;
  // Files that mention neither torch nor CUDA, and those that could not be understood.
  std::vector<std::string> not_parsed;
};

// Adds the facts of options.rest(), less `files`. A file that cannot be read or parsed counts as
// one that was not parsed.
void add_rest(const base::FileSystem& fs, const std::vector<std::string>& files,
              const CheckOptions& options, ProjectFacts& known);

// Joins all facts. If a file that was not parsed mentions a function, it may call it.
[[nodiscard]] std::shared_ptr<const flow::Summary> join(const base::FileSystem& fs,
                                                        ProjectFacts facts);

}  // namespace torchport::project
