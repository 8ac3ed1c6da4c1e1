// Runs a question in a child process. A broken driver may hang or end the process that asks it;
// here that is an answer, too.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace torchport::host {

// Runs `ask` in a child process and returns its result; none if it did not answer in time or ended
// in another way. Not thread safe: call it before this program starts threads.
[[nodiscard]] std::optional<std::string> in_child(const std::function<std::string()>& ask,
                                                  int milliseconds);

// Reads a pipe until its other end is closed; none beyond the time or the size.
[[nodiscard]] std::optional<std::string> read_pipe(int pipe, int milliseconds, std::size_t most);

// Waits for a child process and reaps it. Returns true if it exited with 0 in this time. Otherwise
// it is killed, with the process group that it leads.
[[nodiscard]] bool finish(int child, int milliseconds);

}  // namespace torchport::host
