#include "cli/held_signals.h"

#include <csignal>
#include <initializer_list>

namespace torchport::cli {

HeldSignals::HeldSignals() {
  sigset_t held{};
  sigemptyset(&held);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held, signal);
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

HeldSignals::~HeldSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace torchport::cli
