/* The wall clock of a process, shifted by the seconds in a file that is mapped: a test changes them while the process runs.
 * Preloaded with LD_PRELOAD; the path is in CLOCK_SHIFT. Monotonic clocks stay as they are. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long *shift;

static long seconds(void) { return shift == NULL ? 0 : *shift; }

__attribute__((constructor)) static void map_shift(void) {
  const char *path = getenv("CLOCK_SHIFT");
  int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) shift = mapped;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += seconds();
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  int result = (int)syscall(SYS_gettimeofday, time, zone);
  if (result == 0 && time != NULL) time->tv_sec += seconds();
  return result;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at != NULL) *at = now.tv_sec;
  return now.tv_sec;
}
