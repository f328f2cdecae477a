// Preloaded into a server under test: acts on file operations below one folder. It kills the process before or after a
// chosen operation, lets operations fail, or delays them. Tests control it through a small shared file (faults.ts has
// its layout). Only calls that go through libc are seen: those of SQLite, DuckDB and the native core.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { WRITE = 1, SYNC = 2, TRUNCATE = 4, RENAME = 8, CREATE = 16, UNLINK = 32 };
enum { KILL = 1, FAIL = 2, DELAY = 3 };

struct control {
  volatile uint32_t armed;
  uint32_t action;
  uint32_t value; // errno of FAIL, milliseconds of DELAY
  uint32_t operations;
  volatile int64_t countdown; // matching operations before the first one that is acted on
  uint32_t is_lasting;        // whether all later ones are acted on, too
  uint32_t is_after;          // KILL: after the operation instead of before
  volatile uint64_t matched;
  volatile uint64_t acted;
  volatile uint32_t gate_operations; // the fault is armed by an operation that matches these and gate_pattern
  uint32_t unused;
  char pattern[192]; // of paths in the folder, as in fnmatch(3); several are separated by '|'
  char gate_pattern[192];
};

_Static_assert(sizeof(struct control) == 440, "faults.ts has the same layout");

static struct control *control;
static char folder[PATH_MAX];

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("FAULTS_CONTROL");
  const char *root = getenv("FAULTS_FOLDER");
  if (path == NULL || root == NULL || realpath(root, folder) == NULL) return;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) control = mapped;
}

// The path in the folder, or NULL if it is elsewhere.
static const char *inside(const char *path) {
  size_t length = strlen(folder);
  if (strncmp(path, folder, length) != 0 || (path[length] != '/' && path[length] != 0)) return NULL;
  return path[length] == 0 ? "." : path + length + 1;
}

static int matches(const char *path, const char *given) {
  char patterns[sizeof control->pattern];
  memcpy(patterns, given, sizeof patterns);
  patterns[sizeof patterns - 1] = 0;
  char *rest = patterns;
  for (char *pattern = strsep(&rest, "|"); pattern != NULL; pattern = strsep(&rest, "|")) {
    if (fnmatch(pattern, path, 0) == 0) return 1;
  }
  return 0;
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

// Returns the errno with which the operation must fail, or 0. Sets `kills` if the process must die after it.
static int act(int operation, const char *absolute, int *kills) {
  *kills = 0;
  if (control == NULL) return 0;
  const char *path = inside(absolute);
  if (path == NULL) return 0;
  if (!control->armed) return 0;
  if (control->gate_operations != 0) {
    if ((control->gate_operations & operation) && matches(path, control->gate_pattern)) control->gate_operations = 0;
    return 0;
  }
  if (!(control->operations & operation) || !matches(path, control->pattern)) return 0;
  __atomic_fetch_add(&control->matched, 1, __ATOMIC_SEQ_CST);
  int64_t before = __atomic_fetch_sub(&control->countdown, 1, __ATOMIC_SEQ_CST);
  if (before > 0 || (before < 0 && !control->is_lasting)) return 0;
  __atomic_fetch_add(&control->acted, 1, __ATOMIC_SEQ_CST);
  if (control->action == KILL) {
    if (!control->is_after) die();
    *kills = 1;
    return 0;
  }
  if (control->action == DELAY) {
    struct timespec time = {control->value / 1000, (control->value % 1000) * 1000000L};
    nanosleep(&time, NULL);
    return 0;
  }
  return (int)control->value;
}

static int act_on_file(int operation, int file, int *kills) {
  *kills = 0;
  if (control == NULL) return 0;
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  int saved = errno;
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (length <= 0) return 0;
  path[length] = 0;
  return act(operation, path, kills);
}

static void absolute_path(int directory, const char *path, char *out) {
  if (path[0] == '/') {
    snprintf(out, PATH_MAX, "%s", path);
    return;
  }
  char link[64], base[PATH_MAX];
  if (directory == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
  else snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  int saved = errno;
  ssize_t length = readlink(link, base, sizeof base - 1);
  errno = saved;
  base[length < 0 ? 0 : length] = 0;
  snprintf(out, PATH_MAX, "%.2000s/%.2000s", base, path);
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define ON_FILE(operation, file, call) \
  do { \
    int kills, failure = act_on_file(operation, file, &kills); \
    if (failure != 0) { \
      errno = failure; \
      return -1; \
    } \
    __typeof__(call) result = call; \
    if (kills) die(); \
    return result; \
  } while (0)

#define ON_PATH(operation, directory, path, call) \
  do { \
    int kills = 0, failure = 0; \
    if (control != NULL) { \
      char whole[PATH_MAX]; \
      absolute_path(directory, path, whole); \
      failure = act(operation, whole, &kills); \
    } \
    if (failure != 0) { \
      errno = failure; \
      return -1; \
    } \
    __typeof__(call) result = call; \
    if (kills) die(); \
    return result; \
  } while (0)

ssize_t write(int file, const void *bytes, size_t count) {
  REAL(write);
  ON_FILE(WRITE, file, real(file, bytes, count));
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  REAL(pwrite);
  ON_FILE(WRITE, file, real(file, bytes, count, offset));
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  REAL(pwrite64);
  ON_FILE(WRITE, file, real(file, bytes, count, offset));
}
ssize_t writev(int file, const struct iovec *pieces, int count) {
  REAL(writev);
  ON_FILE(WRITE, file, real(file, pieces, count));
}
int fsync(int file) {
  REAL(fsync);
  ON_FILE(SYNC, file, real(file));
}
int fdatasync(int file) {
  REAL(fdatasync);
  ON_FILE(SYNC, file, real(file));
}
int ftruncate(int file, off_t length) {
  REAL(ftruncate);
  ON_FILE(TRUNCATE, file, real(file, length));
}
int ftruncate64(int file, off64_t length) {
  REAL(ftruncate64);
  ON_FILE(TRUNCATE, file, real(file, length));
}
int fallocate(int file, int mode, off_t offset, off_t length) {
  REAL(fallocate);
  ON_FILE(TRUNCATE, file, real(file, mode, offset, length));
}
int rename(const char *from, const char *to) {
  REAL(rename);
  ON_PATH(RENAME, AT_FDCWD, to, real(from, to));
}
int renameat(int from_directory, const char *from, int directory, const char *to) {
  REAL(renameat);
  ON_PATH(RENAME, directory, to, real(from_directory, from, directory, to));
}
int unlink(const char *path) {
  REAL(unlink);
  ON_PATH(UNLINK, AT_FDCWD, path, real(path));
}
int remove(const char *path) {
  REAL(remove);
  ON_PATH(UNLINK, AT_FDCWD, path, real(path));
}
int unlinkat(int directory, const char *path, int flags) {
  REAL(unlinkat);
  ON_PATH(UNLINK, directory, path, real(directory, path, flags));
}

#define OPEN(name, directory, call_with_mode) \
  mode_t mode = 0; \
  if (flags & O_CREAT) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  } \
  REAL(name); \
  if (!(flags & O_CREAT)) return call_with_mode; \
  ON_PATH(CREATE, directory, path, call_with_mode)

int open(const char *path, int flags, ...) { OPEN(open, AT_FDCWD, real(path, flags, mode)); }
int open64(const char *path, int flags, ...) { OPEN(open64, AT_FDCWD, real(path, flags, mode)); }
int openat(int directory, const char *path, int flags, ...) {
  OPEN(openat, directory, real(directory, path, flags, mode));
}
int openat64(int directory, const char *path, int flags, ...) {
  OPEN(openat64, directory, real(directory, path, flags, mode));
}
