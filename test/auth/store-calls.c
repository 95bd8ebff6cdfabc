/*
 * Loaded into a process before the C library: notes each call that changes or syncs something below the folder named by
 * STORE_FOLDER in the file named by STORE_CALLS, one a line, and ends the process like a kill before call number
 * STORE_KILL_AT.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static long calls = 0;

static void note(const char *call, const char *path) {
  const char *folder = getenv("STORE_FOLDER"), *log = getenv("STORE_CALLS"), *last = getenv("STORE_KILL_AT");
  if (folder == NULL || log == NULL || strncmp(path, folder, strlen(folder)) != 0) return;
  long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  if (last != NULL && number >= atol(last)) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  const char *below = path + strlen(folder);
  char line[512];
  int length = snprintf(line, sizeof line, "%s %s\n", call, *below == '/' ? below + 1 : ".");
  int fd = open(log, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (fd < 0) return;
  syscall(SYS_write, fd, line, (size_t)length);
  syscall(SYS_close, fd);
}

static void note_fd(const char *call, int fd) {
  char name[64], path[4096];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(name, path, sizeof path - 1);
  if (length < 0) return;
  path[length] = '\0';
  note(call, path);
}

#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

ssize_t write(int fd, const void *bytes, size_t count) {
  note_fd("write", fd);
  return REAL(ssize_t(*)(int, const void *, size_t), "write")(fd, bytes, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
  note_fd("write", fd);
  return REAL(ssize_t(*)(int, const void *, size_t, off_t), "pwrite")(fd, bytes, count, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  note_fd("write", fd);
  return REAL(ssize_t(*)(int, const void *, size_t, off64_t), "pwrite64")(fd, bytes, count, at);
}

int fsync(int fd) {
  note_fd("sync", fd);
  return REAL(int (*)(int), "fsync")(fd);
}

int fdatasync(int fd) {
  note_fd("sync", fd);
  return REAL(int (*)(int), "fdatasync")(fd);
}

int ftruncate(int fd, off_t length) {
  note_fd("truncate", fd);
  return REAL(int (*)(int, off_t), "ftruncate")(fd, length);
}

int ftruncate64(int fd, off64_t length) {
  note_fd("truncate", fd);
  return REAL(int (*)(int, off64_t), "ftruncate64")(fd, length);
}

int rename(const char *from, const char *to) {
  note("rename", to);
  return REAL(int (*)(const char *, const char *), "rename")(from, to);
}

int unlink(const char *path) {
  note("unlink", path);
  return REAL(int (*)(const char *), "unlink")(path);
}
