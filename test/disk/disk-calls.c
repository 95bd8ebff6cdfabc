/*
 * Loaded into a process before the C library: records each call that changes or syncs something below the folder named
 * by DISK_CALLS_FOLDER in the file named by DISK_CALLS, one a line, and ends the process like a kill before call number
 * DISK_CALLS_KILL_AT. calls.ts reads the lines:
 *
 *   BEGIN END THREAD CALL RESULT INODE PATH FROM MARKS     (separated by tabs)
 *
 * BEGIN and END are places in one order of all threads: a call ended before another one began when its END is less than
 * the other's BEGIN. PATH and FROM (what is renamed or linked) are below the folder. MARKS are the numbers of the texts
 * `disk-mark-000000` in what is written, separated by commas. What is written to a socket is recorded if it has marks.
 *
 * Node, SQLite and the engine call the C library for all of this (Rust's standard library does, and rustix, which does
 * not, writes nothing). A writable map of a file and io_uring would be missed, so their beginning is recorded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define MARK "disk-mark-"
#define MARK_DIGITS 6
#define MAX_MARKS 2048

static char folder[PATH_MAX];
static size_t folder_length;
/* -1 where nothing is recorded. */
static int record = -1;
static long kill_at;
static long calls;
static long order;

/* A call that is under way. */
struct call {
  const char *name;
  char path[PATH_MAX];
  char from[PATH_MAX];
  char marks[MAX_MARKS];
  size_t marks_length;
  unsigned long inode;
  long begin;
};

#define REAL(name) \
  static __typeof__(name) *real; \
  if (real == NULL) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin_recording(void) {
  const char *named = getenv("DISK_CALLS_FOLDER"), *into = getenv("DISK_CALLS"), *last = getenv("DISK_CALLS_KILL_AT");
  if (named == NULL || into == NULL || realpath(named, folder) == NULL) return;
  folder_length = strlen(folder);
  kill_at = last == NULL ? 0 : atol(last);
  long fd = syscall(SYS_openat, AT_FDCWD, into, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  /* A number that no program closes by chance. */
  record = fcntl((int)fd, F_DUPFD_CLOEXEC, 900);
  syscall(SYS_close, (int)fd);
}

/* The part of a path below the folder; NULL when it is elsewhere. */
static const char *below(const char *path) {
  if (strncmp(path, folder, folder_length) != 0) return NULL;
  if (path[folder_length] == '\0') return ".";
  return path[folder_length] == '/' ? path + folder_length + 1 : NULL;
}

/* The real path of a name, which may not exist yet, in an open folder. */
static int resolve(int dir, const char *path, char *out) {
  char joined[PATH_MAX * 2], above[PATH_MAX];
  if (path[0] == '/' || dir == AT_FDCWD) {
    snprintf(joined, sizeof joined, "%s", path);
  } else {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    ssize_t length = readlink(link, above, sizeof above - 1);
    if (length < 0) return 0;
    above[length] = '\0';
    snprintf(joined, sizeof joined, "%s/%s", above, path);
  }
  for (size_t end = strlen(joined); end > 1 && joined[end - 1] == '/'; end -= 1) joined[end - 1] = '\0';
  char *slash = strrchr(joined, '/');
  const char *name = slash == NULL ? joined : slash + 1;
  if (name[0] == '\0' || strcmp(name, ".") == 0) return realpath(joined, out) != NULL;
  if (slash != NULL) *slash = '\0';
  if (realpath(slash == NULL ? "." : joined[0] == '\0' ? "/" : joined, above) == NULL) return 0;
  return snprintf(out, PATH_MAX, "%s/%s", above, name) < PATH_MAX;
}

static unsigned long inode_of(const char *path) {
  struct stat found;
  return lstat(path, &found) == 0 ? (unsigned long)found.st_ino : 0;
}

/* Counts the call, and ends the process before it where that was asked for. */
static void begin(struct call *call, const char *name) {
  call->name = name;
  long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  if (kill_at > 0 && number >= kill_at) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  call->begin = __atomic_add_fetch(&order, 1, __ATOMIC_SEQ_CST);
}

/* Begins a call about a name; 0 when it is not below the folder. */
static int begin_at(struct call *call, const char *name, int dir, const char *path, int from_dir, const char *from) {
  int before = errno, is_ours = 0;
  call->from[0] = call->marks[0] = '\0';
  call->marks_length = 0;
  if (record >= 0 && resolve(dir, path, call->path) && below(call->path) != NULL) {
    is_ours = from == NULL || resolve(from_dir, from, call->from);
  }
  if (is_ours) {
    call->inode = inode_of(from == NULL ? call->path : call->from);
    begin(call, name);
  }
  errno = before;
  return is_ours;
}

/* Begins a call about an open file; 0 when it is not below the folder. */
static int begin_fd(struct call *call, const char *name, int fd) {
  int before = errno, is_ours = 0;
  char link[64];
  call->from[0] = call->marks[0] = '\0';
  call->marks_length = 0;
  if (record >= 0) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, call->path, sizeof call->path - 1);
    call->path[length < 0 ? 0 : length] = '\0';
    struct stat found;
    is_ours = below(call->path) != NULL && fstat(fd, &found) == 0;
    if (is_ours) {
      call->inode = (unsigned long)found.st_ino;
      begin(call, name);
    }
  }
  errno = before;
  return is_ours;
}

static void find_marks(struct call *call, const void *bytes, size_t count) {
  const char *at = bytes, *end = at + count;
  while ((at = memmem(at, (size_t)(end - at), MARK, strlen(MARK))) != NULL) {
    at += strlen(MARK);
    if (end - at < MARK_DIGITS || call->marks_length + MARK_DIGITS + 2 > MAX_MARKS) return;
    if (call->marks_length > 0) call->marks[call->marks_length++] = ',';
    memcpy(call->marks + call->marks_length, at, MARK_DIGITS);
    call->marks_length += MARK_DIGITS;
    call->marks[call->marks_length] = '\0';
  }
}

static void find_marks_in(struct call *call, const struct iovec *pieces, int count) {
  for (int at = 0; at < count; at += 1) find_marks(call, pieces[at].iov_base, pieces[at].iov_len);
}

static void end(struct call *call, long result) {
  int before = errno;
  long place = __atomic_add_fetch(&order, 1, __ATOMIC_SEQ_CST);
  char line[3 * PATH_MAX];
  const char *from = call->from[0] == '\0' ? "" : below(call->from) == NULL ? call->from : below(call->from);
  const char *path = below(call->path) == NULL ? call->path : below(call->path);
  int length = snprintf(line, sizeof line, "%ld\t%ld\t%ld\t%s\t%ld\t%lu\t%s\t%s\t%s\n", call->begin, place,
                        (long)syscall(SYS_gettid), call->name, result, call->inode, path, from, call->marks);
  syscall(SYS_write, record, line, (size_t)length);
  errno = before;
}

/* Runs the real call, recorded where it is ours. */
#define RECORDED(type, is_begun, real_call) \
  struct call call; \
  if (!(is_begun)) return real_call; \
  type result = real_call; \
  end(&call, (long)result); \
  return result

/* The same for bytes that are written to a file, or are an answer to a request with a mark. */
static int begin_write(struct call *call, int fd, const struct iovec *pieces, int count) {
  if (record < 0) return 0;
  if (begin_fd(call, "write", fd)) {
    find_marks_in(call, pieces, count);
    return 1;
  }
  if (strncmp(call->path, "socket:", 7) != 0) return 0;
  find_marks_in(call, pieces, count);
  if (call->marks_length == 0) return 0;
  call->name = "answer";
  call->inode = 0;
  call->begin = __atomic_add_fetch(&order, 1, __ATOMIC_SEQ_CST);
  return 1;
}

#define ONE(bytes, count) &(struct iovec){(void *)(bytes), count}, 1

ssize_t write(int fd, const void *bytes, size_t count) {
  REAL(write);
  RECORDED(ssize_t, begin_write(&call, fd, ONE(bytes, count)), real(fd, bytes, count));
}

ssize_t writev(int fd, const struct iovec *pieces, int count) {
  REAL(writev);
  RECORDED(ssize_t, begin_write(&call, fd, pieces, count), real(fd, pieces, count));
}

ssize_t send(int fd, const void *bytes, size_t count, int flags) {
  REAL(send);
  RECORDED(ssize_t, begin_write(&call, fd, ONE(bytes, count)), real(fd, bytes, count, flags));
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  REAL(sendmsg);
  RECORDED(ssize_t, begin_write(&call, fd, message->msg_iov, (int)message->msg_iovlen), real(fd, message, flags));
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
  REAL(pwrite);
  RECORDED(ssize_t, begin_write(&call, fd, ONE(bytes, count)), real(fd, bytes, count, at));
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  REAL(pwrite64);
  RECORDED(ssize_t, begin_write(&call, fd, ONE(bytes, count)), real(fd, bytes, count, at));
}

ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t at) {
  REAL(pwritev);
  RECORDED(ssize_t, begin_write(&call, fd, pieces, count), real(fd, pieces, count, at));
}

ssize_t pwritev64(int fd, const struct iovec *pieces, int count, off64_t at) {
  REAL(pwritev64);
  RECORDED(ssize_t, begin_write(&call, fd, pieces, count), real(fd, pieces, count, at));
}

ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t count, unsigned flags) {
  REAL(copy_file_range);
  RECORDED(ssize_t, begin_fd(&call, "write", out), real(in, in_at, out, out_at, count, flags));
}

ssize_t sendfile(int out, int in, off_t *at, size_t count) {
  REAL(sendfile);
  RECORDED(ssize_t, begin_fd(&call, "write", out), real(out, in, at, count));
}

ssize_t sendfile64(int out, int in, off64_t *at, size_t count) {
  REAL(sendfile64);
  RECORDED(ssize_t, begin_fd(&call, "write", out), real(out, in, at, count));
}

/* The one of these that writes shares the blocks of another file. */
int ioctl(int fd, unsigned long request, ...) {
  REAL(ioctl);
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  RECORDED(int, request == FICLONE && begin_fd(&call, "write", fd), real(fd, request, argument));
}

/* Node copies files by a call that its C library may not have a function for. */
long syscall(long number, ...) {
  REAL(syscall);
  va_list list;
  va_start(list, number);
  long a[6];
  for (int at = 0; at < 6; at += 1) a[at] = va_arg(list, long);
  va_end(list);
  int is_copy = number == SYS_copy_file_range, is_ring = number == SYS_io_uring_setup;
  RECORDED(long,
           (is_copy && begin_fd(&call, "write", (int)a[2])) ||
               (is_ring && begin_at(&call, "io_uring", AT_FDCWD, folder, 0, NULL)),
           real(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

static int begin_map(struct call *call, int rights, int flags, int fd) {
  int is_written = (rights & PROT_WRITE) != 0 && (flags & MAP_TYPE) != MAP_PRIVATE && (flags & MAP_ANONYMOUS) == 0;
  return is_written && begin_fd(call, "map", fd);
}

void *mmap(void *at, size_t length, int rights, int flags, int fd, off_t offset) {
  REAL(mmap);
  RECORDED(void *, begin_map(&call, rights, flags, fd), real(at, length, rights, flags, fd, offset));
}

void *mmap64(void *at, size_t length, int rights, int flags, int fd, off64_t offset) {
  REAL(mmap64);
  RECORDED(void *, begin_map(&call, rights, flags, fd), real(at, length, rights, flags, fd, offset));
}

int fsync(int fd) {
  REAL(fsync);
  RECORDED(int, begin_fd(&call, "sync", fd), real(fd));
}

int fdatasync(int fd) {
  REAL(fdatasync);
  RECORDED(int, begin_fd(&call, "sync", fd), real(fd));
}

int ftruncate(int fd, off_t length) {
  REAL(ftruncate);
  RECORDED(int, begin_fd(&call, "truncate", fd), real(fd, length));
}

int ftruncate64(int fd, off64_t length) {
  REAL(ftruncate64);
  RECORDED(int, begin_fd(&call, "truncate", fd), real(fd, length));
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
  REAL(fallocate);
  RECORDED(int, begin_fd(&call, "truncate", fd), real(fd, mode, offset, length));
}

int rename(const char *from, const char *to) {
  REAL(rename);
  RECORDED(int, begin_at(&call, "rename", AT_FDCWD, to, AT_FDCWD, from), real(from, to));
}

int renameat(int from_dir, const char *from, int to_dir, const char *to) {
  REAL(renameat);
  RECORDED(int, begin_at(&call, "rename", to_dir, to, from_dir, from), real(from_dir, from, to_dir, to));
}

int link(const char *from, const char *to) {
  REAL(link);
  RECORDED(int, begin_at(&call, "link", AT_FDCWD, to, AT_FDCWD, from), real(from, to));
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
  REAL(linkat);
  RECORDED(int, begin_at(&call, "link", to_dir, to, from_dir, from), real(from_dir, from, to_dir, to, flags));
}

int unlink(const char *path) {
  REAL(unlink);
  RECORDED(int, begin_at(&call, "unlink", AT_FDCWD, path, 0, NULL), real(path));
}

int unlinkat(int dir, const char *path, int flags) {
  REAL(unlinkat);
  RECORDED(int, begin_at(&call, "unlink", dir, path, 0, NULL), real(dir, path, flags));
}

int rmdir(const char *path) {
  REAL(rmdir);
  RECORDED(int, begin_at(&call, "unlink", AT_FDCWD, path, 0, NULL), real(path));
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  RECORDED(int, begin_at(&call, "mkdir", AT_FDCWD, path, 0, NULL), real(path, mode));
}

int mkdirat(int dir, const char *path, mode_t mode) {
  REAL(mkdirat);
  RECORDED(int, begin_at(&call, "mkdir", dir, path, 0, NULL), real(dir, path, mode));
}

/* A file that is opened is recorded where that makes or empties it. */
static int begin_open(struct call *call, int dir, const char *path, int flags) {
  int before = errno;
  char at[PATH_MAX];
  int is_there = record >= 0 && resolve(dir, path, at) && inode_of(at) != 0;
  errno = before;
  if ((flags & (is_there ? O_TRUNC : O_CREAT)) == 0) return 0;
  return begin_at(call, is_there ? "truncate" : "create", dir, path, 0, NULL);
}

static int end_open(struct call *call, int fd) {
  struct stat found;
  if (fd >= 0 && fstat(fd, &found) == 0) call->inode = (unsigned long)found.st_ino;
  end(call, fd);
  return fd;
}

#define MODE(flags) \
  mode_t mode = 0; \
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list list; \
    va_start(list, flags); \
    mode = va_arg(list, mode_t); \
    va_end(list); \
  }

#define OPENED(dir, path, flags, real_call) \
  struct call call; \
  if (!begin_open(&call, dir, path, flags)) return real_call; \
  return end_open(&call, real_call)

int open(const char *path, int flags, ...) {
  REAL(open);
  MODE(flags)
  OPENED(AT_FDCWD, path, flags, real(path, flags, mode));
}

int open64(const char *path, int flags, ...) {
  REAL(open64);
  MODE(flags)
  OPENED(AT_FDCWD, path, flags, real(path, flags, mode));
}

int openat(int dir, const char *path, int flags, ...) {
  REAL(openat);
  MODE(flags)
  OPENED(dir, path, flags, real(dir, path, flags, mode));
}

int openat64(int dir, const char *path, int flags, ...) {
  REAL(openat64);
  MODE(flags)
  OPENED(dir, path, flags, real(dir, path, flags, mode));
}

int creat(const char *path, mode_t mode) {
  REAL(creat);
  OPENED(AT_FDCWD, path, O_CREAT | O_TRUNC, real(path, mode));
}
