// A child process asks the libraries of drivers, because a broken driver may hang or end the
// process that asks. Then that is the answer.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace torchport::host {

// What `ask` returns, computed in a child process; nothing where it has not answered in time, or
// has ended in another way. Not thread safe: called before this program starts threads.
[[nodiscard]] std::optional<std::string> in_child(const std::function<std::string()>& ask,
                                                  int milliseconds);

// What comes out of a pipe until its other end is closed; nothing past the time or the size.
[[nodiscard]] std::optional<std::string> read_pipe(int pipe, int milliseconds, std::size_t most);

// Waits for a child and takes it away. True where it exited with 0 in this time; else it is ended,
// with the group that it leads.
[[nodiscard]] bool finish(int child, int milliseconds);

}  // namespace torchport::host
