// std::condition_variable waits by a clock that nobody sets. Before glibc 2.30 a wait had only the
// clock of the day: it may then end too early or too late if that clock is set meanwhile. libstdc++
// looks at the right clock after each wait.
#include "portable/condition_wait.h"

#include <cerrno>
#include <ctime>

#include <dlfcn.h>
#include <features.h>
#include <pthread.h>

namespace torchport::portable {

int wait_by_the_clock_of_the_day(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                 const timespec* until) {
  timespec now{};
  timespec day{};
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &day) != 0) return EINVAL;
  constexpr long kSecond = 1'000'000'000;
  day.tv_sec += until->tv_sec - now.tv_sec;
  day.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (day.tv_nsec < 0) {
    day.tv_nsec += kSecond;
    --day.tv_sec;
  } else if (day.tv_nsec >= kSecond) {
    day.tv_nsec -= kSecond;
    ++day.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &day);
}

}  // namespace torchport::portable

#if __GLIBC_PREREQ(2, 30)
extern "C" int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                      clockid_t clock, const timespec* until) {
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  static const Wait wait = [] {
    const auto newer = reinterpret_cast<Wait>(dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"));
    return newer != nullptr ? newer : &torchport::portable::wait_by_the_clock_of_the_day;
  }();
  return wait(condition, mutex, clock, until);
}
#endif
