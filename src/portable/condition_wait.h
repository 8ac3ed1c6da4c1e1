// The wait of condition_wait.cpp for a glibc before 2.30.
#pragma once

#include <ctime>

#include <pthread.h>

namespace torchport::portable {

// pthread_cond_clockwait() by pthread_cond_timedwait(): waits until `clock` shows `until`.
int wait_by_the_clock_of_the_day(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                 const timespec* until);

}  // namespace torchport::portable
