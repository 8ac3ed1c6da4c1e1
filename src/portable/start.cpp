// The start of a program. Since glibc 2.34 libc.so.6 itself runs the constructors of the program's
// static objects, and the new version of __libc_start_main stands for that. An older glibc expects
// a function that runs them, which a newer one calls, too, in the place of its own. So a program
// that passes such a function to the old version starts on all of them.
#include <features.h>

#if __GLIBC_PREREQ(2, 34)
extern "C" {

using Main = int (*)(int, char**, char**);
using Constructor = void (*)(int, char**, char**);

// Made by the linker, and by crti.o.
[[gnu::visibility("hidden")]] extern const Constructor __init_array_start[];
[[gnu::visibility("hidden")]] extern const Constructor __init_array_end[];
void _init();

__asm__(".symver torchport_old_start, __libc_start_main@GLIBC_2.2.5");
[[gnu::visibility("default")]] int torchport_old_start(Main main, int count, char** words,
                                                       Constructor init, void (*fini)(),
                                                       void (*loader_fini)(), void* stack_end);

static void construct(int count, char** words, char** environment) {
  _init();
  for (const Constructor* each = __init_array_start; each != __init_array_end; ++each)
    (*each)(count, words, environment);
}

// _start of crt1.o calls this function. `init` is null there since 2.34.
int __libc_start_main(Main main, int count, char** words, Constructor, void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
  return torchport_old_start(main, count, words, construct, fini, loader_fini, stack_end);
}

}  // extern "C"
#endif
