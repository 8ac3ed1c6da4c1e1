// Lets a short piece of work end before Ctrl-C or a request to terminate ends the program, so that
// it leaves no temporary file.
#pragma once

#include <csignal>

namespace torchport::cli {

// Holds SIGINT, SIGTERM and SIGHUP back in the calling thread until it is destroyed; the program
// gets them then. REQUIRED: no other thread runs, because one of them would get the signal. A
// second Ctrl-C does not end the work either; SIGKILL does.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace torchport::cli
