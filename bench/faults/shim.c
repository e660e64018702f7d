/* Counts the calls by which a process changes files below a folder, and lets one of them fail, or kills at it.

   Preloaded by the fault bench (bench/faults/shim.py, which sets the variables). Every call of libc that writes, cuts,
   syncs, makes, renames, links or removes a file below MNEMIC_FAULT_FOLDER has a number, from 1 on, in one count for the
   process and all that it starts. At number MNEMIC_FAULT_AT happens what MNEMIC_FAULT_KIND says:

     kill   the process is killed in place of the call
     torn   half of a write is carried out, or all of another call, and then the process is killed
     eio    the call fails with EIO, once
     quota  the call fails with EDQUOT, once, if it needs room
     full   from then on whatever needs room fails with ENOSPC; the first write is cut short instead

   MNEMIC_FAULT_RECORD is a file of RECORD bytes that is mapped: the count (u64), whether a fault was injected (u64),
   and the name of the call it was injected into. What SQLite maps (its index of the WAL) is written without a call. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define RECORD 4096

struct record {
    uint64_t count;
    uint64_t injected;
    char name[RECORD - 16];
};

enum verdict { PASS, FAIL, SHORT, DIE_AFTER };

static struct record *record;
static char folder[PATH_MAX];
static size_t folder_length;
static const char *kind = "";
static uint64_t at;
static __thread int inside; /* what the shim itself calls is not counted */

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) abort();
    return found;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("MNEMIC_FAULT_RECORD"), *below = getenv("MNEMIC_FAULT_FOLDER");
    if (path == NULL || below == NULL || strlen(below) >= sizeof folder) return;
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return;
    void *mapped = mmap(NULL, RECORD, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    syscall(SYS_close, descriptor);
    if (mapped == MAP_FAILED) return;
    strcpy(folder, below);
    folder_length = strlen(folder);
    if (getenv("MNEMIC_FAULT_KIND")) kind = getenv("MNEMIC_FAULT_KIND");
    if (getenv("MNEMIC_FAULT_AT")) at = strtoull(getenv("MNEMIC_FAULT_AT"), NULL, 10);
    record = mapped;
}

static _Noreturn void die(void) {
    syscall(SYS_kill, (pid_t)syscall(SYS_getpid), SIGKILL);
    for (;;) pause();
}

static int below(const char *path) {
    return strncmp(path, folder, folder_length) == 0 && (path[folder_length] == '/' || path[folder_length] == 0);
}

/* The path that a descriptor was opened by; whether there is one. */
static int path_of(int descriptor, char *path, size_t room) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int saved = errno;
    ssize_t length = readlink(link, path, room - 1);
    errno = saved;
    if (length > 0) path[length] = 0;
    return length > 0;
}

/* Whether a descriptor is of a file below the folder. */
static int ours(int descriptor) {
    char path[PATH_MAX];
    return record != NULL && !inside && path_of(descriptor, path, sizeof path) && below(path);
}

/* Whether a path is below the folder; a relative one is taken from an open folder, or the working folder. */
static int named(int from, const char *path) {
    if (record == NULL || inside || path == NULL) return 0;
    if (path[0] == '/') return below(path);
    char whole[2 * PATH_MAX];
    if (from == AT_FDCWD ? syscall(SYS_getcwd, whole, (size_t)PATH_MAX) <= 0 : !path_of(from, whole, PATH_MAX)) return 0;
    size_t length = strlen(whole);
    snprintf(whole + length, sizeof whole - length, "/%s", path);
    return below(whole);
}

/* Count a call, and say what is to happen to it; `errno` is set where it is to fail. */
static enum verdict next(const char *name, int needs_room, int writes) {
    uint64_t number = __atomic_add_fetch(&record->count, 1, __ATOMIC_SEQ_CST);
    int lasting = strcmp(kind, "full") == 0 || strcmp(kind, "quota") == 0; /* the first from then on that needs room */
    if (at == 0 || number < at || (number > at && !lasting)) return PASS;
    if (lasting && !needs_room) return PASS;
    int first = __atomic_exchange_n(&record->injected, 1, __ATOMIC_SEQ_CST) == 0;
    if (first) strncpy(record->name, name, sizeof record->name - 1);
    if (strcmp(kind, "kill") == 0) die();
    if (strcmp(kind, "torn") == 0) return DIE_AFTER;
    if (strcmp(kind, "full") == 0) {
        if (first && writes) return SHORT;
        errno = ENOSPC;
        return FAIL;
    }
    if (strcmp(kind, "quota") == 0) {
        if (!first) return PASS;
        errno = EDQUOT;
        return FAIL;
    }
    errno = EIO;
    return FAIL;
}

/* Whether so many bytes at an offset make a file longer; from where it stands, where there is no offset. */
static int grows(int descriptor, off_t offset, size_t length) {
    struct stat found;
    int saved = errno, flags = fcntl(descriptor, F_GETFL);
    if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return 0;
    if (offset < 0) offset = flags & O_APPEND ? found.st_size : lseek(descriptor, 0, SEEK_CUR);
    errno = saved;
    return offset + (off_t)length > found.st_size;
}

/* A call that writes `length` bytes: `whole` carries it out, `half` half of it. */
#define WRITING(name, descriptor, offset, length, whole, half)                                     \
    do {                                                                                           \
        if (!ours(descriptor)) return whole;                                                       \
        switch (next(name, grows(descriptor, offset, length), (length) > 1)) {                     \
            case FAIL: return -1;                                                                  \
            case SHORT: return half;                                                               \
            case DIE_AFTER: (void)!(half); die();                                                  \
            default: return whole;                                                                 \
        }                                                                                          \
    } while (0)

/* Another call. */
#define CHANGING(name, hit, needs_room, whole)                                                     \
    do {                                                                                           \
        if (!(hit)) return whole;                                                                  \
        switch (next(name, needs_room, 0)) {                                                       \
            case FAIL: return -1;                                                                  \
            case DIE_AFTER: (void)!(whole); die();                                                 \
            default: return whole;                                                                 \
        }                                                                                          \
    } while (0)

static size_t total(const struct iovec *parts, int count) {
    size_t length = 0;
    for (int i = 0; i < count; i++) length += parts[i].iov_len;
    return length;
}

/* The first half of what is to be written from several places, in as many calls. */
static ssize_t half_of(int descriptor, const struct iovec *parts, int count, off_t offset) {
    size_t left = total(parts, count) / 2;
    ssize_t written = 0;
    inside++;
    for (int i = 0; i < count && left > 0; i++) {
        size_t length = parts[i].iov_len < left ? parts[i].iov_len : left;
        ssize_t done = offset < 0 ? write(descriptor, parts[i].iov_base, length)
                                  : pwrite(descriptor, parts[i].iov_base, length, offset + written);
        if (done < 0) break;
        written += done;
        left -= (size_t)done;
    }
    inside--;
    return written;
}

ssize_t write(int d, const void *data, size_t n) {
    WRITING("write", d, -1, n, REAL(write)(d, data, n), REAL(write)(d, data, n / 2));
}

ssize_t pwrite(int d, const void *data, size_t n, off_t o) {
    WRITING("pwrite", d, o, n, REAL(pwrite)(d, data, n, o), REAL(pwrite)(d, data, n / 2, o));
}

ssize_t pwrite64(int d, const void *data, size_t n, off64_t o) {
    WRITING("pwrite64", d, o, n, REAL(pwrite64)(d, data, n, o), REAL(pwrite64)(d, data, n / 2, o));
}

ssize_t writev(int d, const struct iovec *parts, int n) {
    WRITING("writev", d, -1, total(parts, n), REAL(writev)(d, parts, n), half_of(d, parts, n, -1));
}

ssize_t pwritev(int d, const struct iovec *parts, int n, off_t o) {
    WRITING("pwritev", d, o, total(parts, n), REAL(pwritev)(d, parts, n, o), half_of(d, parts, n, o));
}

ssize_t pwritev64(int d, const struct iovec *parts, int n, off64_t o) {
    WRITING("pwritev64", d, o, total(parts, n), REAL(pwritev64)(d, parts, n, o), half_of(d, parts, n, o));
}

ssize_t sendfile(int d, int from, off_t *o, size_t n) {
    WRITING("sendfile", d, -1, n, syscall(SYS_sendfile, d, from, o, n), syscall(SYS_sendfile, d, from, o, n / 2));
}

ssize_t sendfile64(int d, int from, off64_t *o, size_t n) { return sendfile(d, from, (off_t *)o, n); }

ssize_t copy_file_range(int from, off64_t *a, int d, off64_t *b, size_t n, unsigned f) {
    WRITING("copy_file_range", d, b == NULL ? -1 : *b, n, REAL(copy_file_range)(from, a, d, b, n, f),
            REAL(copy_file_range)(from, a, d, b, n / 2, f));
}

int ftruncate(int d, off_t n) { CHANGING("ftruncate", ours(d), 0, REAL(ftruncate)(d, n)); }
int ftruncate64(int d, off64_t n) { CHANGING("ftruncate64", ours(d), 0, REAL(ftruncate64)(d, n)); }
int truncate(const char *p, off_t n) { CHANGING("truncate", named(AT_FDCWD, p), 0, REAL(truncate)(p, n)); }
int truncate64(const char *p, off64_t n) { CHANGING("truncate64", named(AT_FDCWD, p), 0, REAL(truncate64)(p, n)); }
int fallocate(int d, int m, off_t o, off_t n) { CHANGING("fallocate", ours(d), 1, REAL(fallocate)(d, m, o, n)); }
int fallocate64(int d, int m, off64_t o, off64_t n) {
    CHANGING("fallocate64", ours(d), 1, REAL(fallocate64)(d, m, o, n));
}
int fsync(int d) { CHANGING("fsync", ours(d), 0, REAL(fsync)(d)); }
int fdatasync(int d) { CHANGING("fdatasync", ours(d), 0, REAL(fdatasync)(d)); }

int rename(const char *a, const char *b) { CHANGING("rename", named(AT_FDCWD, b), 1, REAL(rename)(a, b)); }
int renameat(int c, const char *a, int d, const char *b) {
    CHANGING("renameat", named(d, b), 1, REAL(renameat)(c, a, d, b));
}
int renameat2(int c, const char *a, int d, const char *b, unsigned f) {
    CHANGING("renameat2", named(d, b), 1, REAL(renameat2)(c, a, d, b, f));
}
int link(const char *a, const char *b) { CHANGING("link", named(AT_FDCWD, b), 1, REAL(link)(a, b)); }
int linkat(int c, const char *a, int d, const char *b, int f) {
    CHANGING("linkat", named(d, b), 1, REAL(linkat)(c, a, d, b, f));
}
int symlink(const char *a, const char *b) { CHANGING("symlink", named(AT_FDCWD, b), 1, REAL(symlink)(a, b)); }
int symlinkat(const char *a, int d, const char *b) { CHANGING("symlinkat", named(d, b), 1, REAL(symlinkat)(a, d, b)); }
int unlink(const char *p) { CHANGING("unlink", named(AT_FDCWD, p), 0, REAL(unlink)(p)); }
int unlinkat(int d, const char *p, int f) { CHANGING("unlinkat", named(d, p), 0, REAL(unlinkat)(d, p, f)); }
int remove(const char *p) { CHANGING("remove", named(AT_FDCWD, p), 0, REAL(remove)(p)); }
int rmdir(const char *p) { CHANGING("rmdir", named(AT_FDCWD, p), 0, REAL(rmdir)(p)); }
int mkdir(const char *p, mode_t m) { CHANGING("mkdir", named(AT_FDCWD, p), 1, REAL(mkdir)(p, m)); }
int mkdirat(int d, const char *p, mode_t m) { CHANGING("mkdirat", named(d, p), 1, REAL(mkdirat)(d, p, m)); }

/* A call that opens a file: it changes something where it may make or cut one. */
#define OPENING(name, from, path, flags, whole)                                                    \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                       \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode = va_arg(more, mode_t);                                                               \
        va_end(more);                                                                              \
    }                                                                                              \
    CHANGING(name, ((flags) & (O_CREAT | O_TRUNC)) && named(from, path), absent(from, path), whole)

static int absent(int from, const char *path) {
    int saved = errno, gone = faccessat(from, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    errno = saved;
    return gone;
}

int open(const char *p, int f, ...) { OPENING("open", AT_FDCWD, p, f, REAL(open)(p, f, mode)); }
int open64(const char *p, int f, ...) { OPENING("open64", AT_FDCWD, p, f, REAL(open64)(p, f, mode)); }
int openat(int d, const char *p, int f, ...) { OPENING("openat", d, p, f, REAL(openat)(d, p, f, mode)); }
int openat64(int d, const char *p, int f, ...) { OPENING("openat64", d, p, f, REAL(openat64)(d, p, f, mode)); }
int creat(const char *p, mode_t m) { CHANGING("creat", named(AT_FDCWD, p), absent(AT_FDCWD, p), REAL(creat)(p, m)); }
