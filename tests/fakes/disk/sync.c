/* Lets a process see a slow disk: preloaded, it makes each sync of a file take so many milliseconds longer as stand in the
 * file which SLOW_DISK names, as they are at that moment.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *longer;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("SLOW_DISK");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *at = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *longer, PROT_READ, MAP_SHARED, file, 0);
    if (at != MAP_FAILED)
        longer = at;
    if (file >= 0)
        close(file);
}

static void wait(void) {
    int64_t left = longer ? *longer : 0;
    struct timespec t = {left / 1000, left % 1000 * 1000000};
    while (left && nanosleep(&t, &t))
        ;
}

int fsync(int file) {
    wait();
    return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    wait();
    return (int)syscall(SYS_fdatasync, file);
}
