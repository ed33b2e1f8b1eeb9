/* Lets a process see a disk that fails: preloaded, it lets writes and syncs of files whose paths begin as FAILING_UNDER
 * says end with an error. Which ones, the number in the file that FAILING_DISK names says at that moment: the first and
 * the last of them, counted from when it was put there, 16 bits each, and above these the error. The file that
 * FAILING_NOTE names is there when one has failed.
 */
#define _GNU_SOURCE
#define NUMBER_IN "FAILING_DISK"
#include "../preloaded.h"
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

static atomic_long met;
static _Atomic int64_t seen;

static void note(void) {
    const char *name = getenv("FAILING_NOTE");
    int file = name ? open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (file >= 0)
        close(file);
}

static int is_there(int file) {
    const char *under = getenv("FAILING_UNDER");
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path);
    return under && length > 0 && (size_t)length > strlen(under) && !memcmp(path, under, strlen(under));
}

static int fails(int file) {
    int64_t now = number ? *number : 0;
    if (now != seen) {
        seen = now;
        met = 0;
    }
    if (!now)
        return 0;
    int before = errno;
    if (!is_there(file)) {
        errno = before;
        return 0;
    }
    int64_t nth = ++met;
    errno = before;
    if (nth < (now & 0xffff) || nth > (now >> 16 & 0xffff))
        return 0;
    note();
    errno = (int)(now >> 32);
    return 1;
}

ssize_t write(int file, const void *from, size_t length) {
    return fails(file) ? -1 : syscall(SYS_write, file, from, length);
}

ssize_t pwrite64(int file, const void *from, size_t length, off64_t at) {
    return fails(file) ? -1 : syscall(SYS_pwrite64, file, from, length, at);
}

ssize_t pwrite(int file, const void *from, size_t length, off_t at) {
    return pwrite64(file, from, length, at);
}

int ftruncate64(int file, off64_t length) {
    return fails(file) ? -1 : (int)syscall(SYS_ftruncate, file, length);
}

int ftruncate(int file, off_t length) {
    return ftruncate64(file, length);
}

int fsync(int file) {
    return fails(file) ? -1 : (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    return fails(file) ? -1 : (int)syscall(SYS_fdatasync, file);
}
