/*
 * Serves one file through FUSE: the kernel reads the pages of MOUNTED from this process, which has them from SOURCE. While
 * the file MARK exists, every read fails, as it does on a disk with a bad sector.
 *
 *   failing-file MOUNTED SOURCE MARK
 *
 * It prints a line when the file is mounted, and ends when it is unmounted. At SIGUSR1 the kernel forgets all pages that it
 * has read, those in maps too, and another line is printed. It speaks the protocol of the kernel by itself,
 * so that it needs no library. The file is the root of its file system, so there are few requests.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 17, REQUEST_BYTES = READ_BYTES + 4096 };

static int device;
static volatile sig_atomic_t forgets;
static char answer[READ_BYTES], request[REQUEST_BYTES];

static void reply(const struct fuse_in_header *in, int error, const void *data, size_t length) {
  struct fuse_out_header out = {.len = sizeof out + length, .error = -error, .unique = in->unique};
  struct iovec parts[2] = {{&out, sizeof out}, {(void *)data, length}};
  if (writev(device, parts, length == 0 ? 1 : 2) < 0 && errno != ENOENT) perror("writev");
}

static void init(const struct fuse_in_header *in, const struct fuse_init_in *asked) {
  struct fuse_init_out out = {
      .major = FUSE_KERNEL_VERSION,
      .minor = asked->minor < FUSE_KERNEL_MINOR_VERSION ? asked->minor : FUSE_KERNEL_MINOR_VERSION,
      .max_readahead = 0,
      .max_write = 4096,
  };
  reply(in, 0, &out, sizeof out);
}

static void attributes(const struct fuse_in_header *in, int source) {
  struct stat found;
  if (fstat(source, &found) != 0) return reply(in, EIO, NULL, 0);
  struct fuse_attr_out out = {.attr_valid = 3600};
  out.attr.ino = FUSE_ROOT_ID;
  out.attr.size = found.st_size;
  out.attr.blocks = found.st_blocks;
  out.attr.mtime = out.attr.ctime = out.attr.atime = found.st_mtime;
  out.attr.mode = S_IFREG | 0600;
  out.attr.nlink = 1;
  out.attr.uid = getuid();
  out.attr.gid = getgid();
  out.attr.blksize = 4096;
  reply(in, 0, &out, sizeof out);
}

static void read_some(const struct fuse_in_header *in, const struct fuse_read_in *asked, int source,
                      const char *mark) {
  if (access(mark, F_OK) == 0) return reply(in, EIO, NULL, 0);
  size_t wanted = asked->size < READ_BYTES ? asked->size : READ_BYTES;
  ssize_t length = pread(source, answer, wanted, asked->offset);
  if (length < 0) return reply(in, EIO, NULL, 0);
  reply(in, 0, answer, length);
}

static void on_signal(int number) {
  (void)number;
  forgets = 1;
}

/* Nothing is being read meanwhile. */
static void forget_pages(void) {
  struct fuse_notify_inval_inode_out what = {.ino = FUSE_ROOT_ID};
  struct fuse_out_header out = {.len = sizeof out + sizeof what, .error = FUSE_NOTIFY_INVAL_INODE};
  struct iovec parts[2] = {{&out, sizeof out}, {&what, sizeof what}};
  if (writev(device, parts, 2) < 0) perror("writev");
  forgets = 0;
  puts("forgotten");
  fflush(stdout);
}

static void serve(int source, const char *mark) {
  for (;;) {
    if (forgets) forget_pages();
    ssize_t length = read(device, request, sizeof request);
    if (length < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN)) continue;
    // ENODEV: it was unmounted.
    if (length < (ssize_t)sizeof(struct fuse_in_header)) return;
    const struct fuse_in_header *in = (const void *)request;
    const void *body = request + sizeof *in;
    struct fuse_open_out opened = {0};
    struct fuse_statfs_out room = {.st = {.bsize = 4096, .namelen = 255}};
    switch (in->opcode) {
      case FUSE_INIT: init(in, body); break;
      case FUSE_GETATTR: attributes(in, source); break;
      case FUSE_OPEN: reply(in, 0, &opened, sizeof opened); break;
      case FUSE_READ: read_some(in, body, source, mark); break;
      case FUSE_STATFS: reply(in, 0, &room, sizeof room); break;
      case FUSE_RELEASE:
      case FUSE_FLUSH:
      case FUSE_FSYNC: reply(in, 0, NULL, 0); break;
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT: break;
      case FUSE_DESTROY: return;
      default: reply(in, ENOSYS, NULL, 0);
    }
  }
}

int main(int count, char **arguments) {
  if (count != 4) return 2;
  int source = open(arguments[2], O_RDONLY | O_CLOEXEC);
  device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (source < 0 || device < 0) {
    perror("open");
    return 1;
  }
  char options[128];
  snprintf(options, sizeof options, "fd=%d,rootmode=%o,user_id=%d,group_id=%d,allow_other", device, S_IFREG | 0600,
           (int)getuid(), (int)getgid());
  if (mount("failing-file", arguments[1], "fuse", MS_NOSUID | MS_NODEV | MS_RDONLY, options) != 0) {
    perror("mount");
    return 1;
  }
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGUSR1, &action, NULL);
  puts("mounted");
  fflush(stdout);
  serve(source, arguments[3]);
  return 0;
}
