/* A program that calls itself by its second word and crashes in the way of its first. */

#include <stdlib.h>
#include <sys/prctl.h>

int main(int count, char **words) {
    volatile int nothing = 0;
    if (count != 3)
        return 2;
    prctl(PR_SET_NAME, words[2]);
    if (*words[1] == 't')
        __builtin_trap();
    return *words[1] == 'd' ? 1 / nothing : *(volatile int *)8;
}
