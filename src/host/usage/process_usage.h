// Measures what one process and all that it started take of the CPU and of the memory.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include <sys/types.h>

#include "base/file_system.h"

namespace torchport::host {

struct ProcessUsage {
  std::set<pid_t> processes;   // those that run now; empty if the process has ended
  double cores = 0;            // cores that were busy for them since the last look()
  std::uint64_t resident = 0;  // bytes; pages that they share count in each
};

// The process with this number and its children, by the files in /proc (proc(5)).
class ProcessTree {
 public:
  // `files` outlives this object.
  ProcessTree(const base::FileSystem& files, pid_t root) : files_(files), root_(root) {}

  // `seconds` is the time since the last look(). The first one gives 0 cores.
  [[nodiscard]] ProcessUsage look(double seconds);

  // The name of the process's program; empty if there is no such process.
  [[nodiscard]] std::string name() const;

 private:
  const base::FileSystem& files_;
  pid_t root_;
  std::set<pid_t> known_;                 // a child whose parent has ended still belongs to it
  std::map<pid_t, std::uint64_t> ticks_;  // of each process, at the last look
  bool looked_ = false;
};

}  // namespace torchport::host
