/* Lets a process see a slow disk: preloaded, it makes each sync of a file take so many milliseconds longer as stand in the
 * file which SLOW_DISK names, as they are at that moment.
 */
#define _GNU_SOURCE
#define NUMBER_IN "SLOW_DISK"
#include "../preloaded.h"
#include <sys/syscall.h>
#include <time.h>

static void wait(void) {
    int64_t left = number ? *number : 0;
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
