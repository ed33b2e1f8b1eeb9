/* For a library that is preloaded: a number that another process sets, as it is at that moment, in the file which the
 * variable NUMBER_IN names; NULL where there is no such file.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int64_t *number;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv(NUMBER_IN);
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *at = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *number, PROT_READ, MAP_SHARED, file, 0);
    if (at != MAP_FAILED)
        number = at;
    if (file >= 0)
        close(file);
}
