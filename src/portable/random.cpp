// std::random_device asks this function, which glibc has since 2.36.
#include <features.h>
#include <unistd.h>

#if __GLIBC_PREREQ(2, 36)
extern "C" unsigned arc4random() noexcept {
  unsigned number = 0;
  while (getentropy(&number, sizeof number) != 0) {
  }
  return number;
}
#endif
