/*
 * Loaded into a server before the C library. While the file named by FAILING_SYNC exists, every sync of a file
 * or folder of a log fails, as it does when the kernel could not write a page. While the file named by SLOW_SYNC
 * exists, every sync takes 50 ms more, as it does on a disk with other work. While the file named by HANGING_SYNC
 * exists, no sync returns.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fails(int fd) {
  const char *mark = getenv("FAILING_SYNC");
  if (mark == NULL || access(mark, F_OK) != 0) return 0;
  char name[64], path[4096];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(name, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return strstr(path, "/log/") != NULL;
}

static void wait_if_slow(void) {
  const char *mark = getenv("SLOW_SYNC");
  if (mark != NULL && access(mark, F_OK) == 0) usleep(50 * 1000);
}

static void wait_while_hanging(void) {
  const char *mark = getenv("HANGING_SYNC");
  while (mark != NULL && access(mark, F_OK) == 0) usleep(50 * 1000);
}

static int synced(const char *call, int fd) {
  wait_if_slow();
  wait_while_hanging();
  if (fails(fd)) {
    errno = EIO;
    return -1;
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, call);
  return real(fd);
}

int fsync(int fd) { return synced("fsync", fd); }

int fdatasync(int fd) { return synced("fdatasync", fd); }
