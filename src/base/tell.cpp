#include "base/tell.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace torchport::base {

void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", (stream == STDIN_FILENO ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
}

}  // namespace torchport::base
