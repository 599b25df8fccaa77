// Delays each sync of a file, to simulate a slower disk: preload it (LD_PRELOAD) into a process whose files are in memory.
// SYNC_DELAY_US is how long a sync takes, in microseconds.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static int delay(void) {
    const char *text = getenv("SYNC_DELAY_US");
    long nanoseconds = text ? atol(text) * 1000 : 0;
    // Of the calling thread. The default lets a sleep take 50 microseconds longer.
    prctl(PR_SET_TIMERSLACK, 1);
    nanosleep(&(struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000}, 0);
    return 0;
}

int fsync(int descriptor) { return (void)descriptor, delay(); }
int fdatasync(int descriptor) { return (void)descriptor, delay(); }
