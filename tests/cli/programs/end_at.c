// Loaded into torchport by LD_PRELOAD: before the n-th call that changes something on disk
// (END_AT=n, from 1) the process gets the signal END_SIGNAL, END_TIMES times. With END_COUNT=FILE
// the number of calls is written there at the end. Only calls from the creation of the journal, or its change, on
// count, that is, those of the writing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int armed, seen;

static void changing(void) {
  if (!armed) return;
  const int call = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
  const char* at = getenv("END_AT");
  if (at == NULL || call != atoi(at)) return;
  for (int i = atoi(getenv("END_TIMES")); i > 0; --i) kill(getpid(), atoi(getenv("END_SIGNAL")));
}

__attribute__((destructor)) static void count(void) {
  const char* path = getenv("END_COUNT");
  FILE* file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%d", seen);
  fclose(file);
}

#define NEXT(name, result, ...) \
  result (*next)(__VA_ARGS__) = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

int mkdir(const char* path, mode_t mode) {
  NEXT("mkdir", int, const char*, mode_t);
  changing();
  return next(path, mode);
}

int open(const char* path, int flags, ...) {
  NEXT("open", int, const char*, int, ...);
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (strstr(path, ".writing") != NULL) armed = 1;
  if ((flags & O_CREAT) != 0) changing();
  return next(path, flags, mode);
}

ssize_t write(int file, const void* data, size_t size) {
  NEXT("write", ssize_t, int, const void*, size_t);
  if (file > 2) changing();
  return next(file, data, size);
}

int fchmod(int file, mode_t mode) {
  NEXT("fchmod", int, int, mode_t);
  changing();
  return next(file, mode);
}

int fsync(int file) {
  NEXT("fsync", int, int);
  changing();
  return next(file);
}

int syncfs(int file) {
  NEXT("syncfs", int, int);
  changing();
  return next(file);
}

int rename(const char* from, const char* to) {
  NEXT("rename", int, const char*, const char*);
  if (strstr(to, ".undoing") != NULL) armed = 1;
  changing();
  return next(from, to);
}

int unlink(const char* path) {
  NEXT("unlink", int, const char*);
  changing();
  return next(path);
}
