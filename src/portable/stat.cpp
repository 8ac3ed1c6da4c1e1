// stat() and its relatives. Before glibc 2.33 they were inline functions, and libc.so.6 exported
// only the functions below. Their first argument is the version of the struct. On x86-64 the two
// structs are the same.
#include <features.h>
#include <sys/stat.h>

#if __GLIBC_PREREQ(2, 33)
extern "C" {

int __xstat(int version, const char* path, struct stat* status) noexcept;
int __lxstat(int version, const char* path, struct stat* status) noexcept;
int __fxstat(int version, int file, struct stat* status) noexcept;
int __fxstatat(int version, int folder, const char* path, struct stat* status, int flags) noexcept;
int __xstat64(int version, const char* path, struct stat64* status) noexcept;
int __lxstat64(int version, const char* path, struct stat64* status) noexcept;
int __fxstat64(int version, int file, struct stat64* status) noexcept;

int stat(const char* path, struct stat* status) noexcept {
  return __xstat(1, path, status);
}
int lstat(const char* path, struct stat* status) noexcept {
  return __lxstat(1, path, status);
}
int fstat(int file, struct stat* status) noexcept {
  return __fxstat(1, file, status);
}
int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
  return __fxstatat(1, folder, path, status, flags);
}
int stat64(const char* path, struct stat64* status) noexcept {
  return __xstat64(1, path, status);
}
int lstat64(const char* path, struct stat64* status) noexcept {
  return __lxstat64(1, path, status);
}
int fstat64(int file, struct stat64* status) noexcept {
  return __fxstat64(1, file, status);
}

}  // extern "C"
#endif
