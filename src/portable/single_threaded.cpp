// Whether the process has only one thread: std::shared_ptr then counts without atomic instructions.
// A glibc before 2.32 does not say it, so the answer is always no.
#include <features.h>

#if __GLIBC_PREREQ(2, 32)
extern "C" {
extern char __libc_single_threaded;
char __libc_single_threaded = 0;
}
#endif
