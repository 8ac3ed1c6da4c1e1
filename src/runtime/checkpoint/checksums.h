// Compares the bytes of a checkpoint with the checksums in it. Neither torch nor `inspect` does so
// otherwise: it takes as long as reading the whole file.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/checkpoint/contents.h"

namespace torchport::checkpoint {

struct Checksums {
  std::size_t compared = 0;          // parts of the file that have one
  std::vector<std::string> damaged;  // "archive/data/3 (layers.0.weight)"
};

// `contents` is what inspect() returned for the file; it gives the names of the tensors. Archives
// of torch (ZIP) have a checksum for each part. Other formats have none: then nothing is compared.
// Fails with kIo and kSyntax. Thread safe.
[[nodiscard]] base::Result<Checksums> compare_checksums(const std::string& path,
                                                        const Contents& contents);

}  // namespace torchport::checkpoint
