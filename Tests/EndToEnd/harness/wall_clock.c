/* LD_PRELOAD library: the wall clock is ahead by the seconds, a 64-bit number, in the file that WALL_CLOCK names. The other clocks
   are the machine's. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *ahead;

__attribute__((constructor)) static void map(void) {
    int file = open(getenv("WALL_CLOCK"), O_RDONLY | O_CLOEXEC);
    void *page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) abort();
    close(file);
    ahead = page;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME && ahead) now->tv_sec += *ahead;
    return result;
}
