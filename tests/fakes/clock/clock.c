/* Lets a process see another time of day: preloaded, it adds to the real-time clock the seconds that stand in the file
 * which WALL_CLOCK_AHEAD names, as they are at that moment. Other clocks stay as they are.
 */
#define _GNU_SOURCE
#define NUMBER_IN "WALL_CLOCK_AHEAD"
#include "../preloaded.h"
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

int clock_gettime(clockid_t which, struct timespec *to) {
    int answer = (int)syscall(SYS_clock_gettime, which, to);
    if (answer == 0 && number && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
        to->tv_sec += *number;
    return answer;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    to->tv_sec = now.tv_sec;
    to->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}
