/*
 * Semaphores for CPython's locks, in place of the C library's.
 *
 * The packages' interpreter is built against a glibc that can wait for a semaphore by the time of day alone (before
 * 2.30 there is no sem_clockwait): a clock that is set back would then make every wait of the process longer. Mutexes
 * with conditions, CPython's own other choice, wait by the right clock, but a signal does not end such a wait, and
 * Python's signal handlers would run only after it. These do both: the wait is absolute, by CLOCK_MONOTONIC, and
 * ends with EINTR.
 *
 * State and count of waiters are one word of 64 bits: whoever posts touches it once, so that the memory may be freed
 * by the one who was let in. The kernel looks at the lower half, the value.
 */

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the lower half of the word is taken to come first"
#endif

typedef struct {
    uint64_t word;
} cmgr_semaphore;

#define CMGR_VALUE ((uint64_t)UINT32_MAX)
#define CMGR_WAITER ((uint64_t)1 << 32)

static inline int cmgr_sem_init(cmgr_semaphore *sem, int shared, unsigned value)
{
    (void)shared;
    __atomic_store_n(&sem->word, (uint64_t)value, __ATOMIC_RELEASE);
    return 0;
}

static inline int cmgr_sem_destroy(cmgr_semaphore *sem)
{
    (void)sem;
    return 0;
}

/* Takes one if there is one, and `leaving` with it: CMGR_WAITER for whoever was counted as waiting. */
static inline int cmgr_sem_take(cmgr_semaphore *sem, uint64_t leaving)
{
    uint64_t seen = __atomic_load_n(&sem->word, __ATOMIC_RELAXED);
    while ((seen & CMGR_VALUE) != 0) {
        if (__atomic_compare_exchange_n(&sem->word, &seen, seen - 1 - leaving, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return 1;
    }
    return 0;
}

static inline int cmgr_sem_trywait(cmgr_semaphore *sem)
{
    if (cmgr_sem_take(sem, 0))
        return 0;
    errno = EAGAIN;
    return -1;
}

/* Waits until the time `until` of CLOCK_MONOTONIC; for ever when it is NULL. */
static inline int cmgr_sem_wait_until(cmgr_semaphore *sem, const struct timespec *until)
{
    if (cmgr_sem_take(sem, 0))
        return 0;
    __atomic_fetch_add(&sem->word, CMGR_WAITER, __ATOMIC_SEQ_CST);
    while (!cmgr_sem_take(sem, CMGR_WAITER)) {
        long slept = syscall(SYS_futex, (uint32_t *)&sem->word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, until, NULL,
                             FUTEX_BITSET_MATCH_ANY);
        if (slept == -1 && errno != EAGAIN) {
            int why = errno;
            __atomic_fetch_sub(&sem->word, CMGR_WAITER, __ATOMIC_SEQ_CST);
            errno = why;
            return -1;
        }
    }
    return 0;
}

static inline int cmgr_sem_wait(cmgr_semaphore *sem)
{
    return cmgr_sem_wait_until(sem, NULL);
}

/* CPython asks for CLOCK_MONOTONIC, and for nothing else. */
static inline int cmgr_sem_clockwait(cmgr_semaphore *sem, clockid_t clock, const struct timespec *until)
{
    if (clock != CLOCK_MONOTONIC) {
        errno = EINVAL;
        return -1;
    }
    return cmgr_sem_wait_until(sem, until);
}

static inline int cmgr_sem_post(cmgr_semaphore *sem)
{
    uint64_t before = __atomic_fetch_add(&sem->word, 1, __ATOMIC_RELEASE);
    if (before >= CMGR_WAITER)
        syscall(SYS_futex, (uint32_t *)&sem->word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
    return 0;
}

#define sem_t cmgr_semaphore
#define sem_init cmgr_sem_init
#define sem_destroy cmgr_sem_destroy
#define sem_wait cmgr_sem_wait
#define sem_trywait cmgr_sem_trywait
#define sem_clockwait cmgr_sem_clockwait
#define sem_post cmgr_sem_post
#define HAVE_SEM_CLOCKWAIT 1
