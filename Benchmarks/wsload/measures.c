/* Latencies of events, and what the server uses. */
#define _GNU_SOURCE
#include "wsload.h"
#include <dirent.h>
#include <unistd.h>

/* A histogram whose 128 buckets for each power of two keep the error below 1 %. */
enum { BUCKETS = 128, POWERS = 58 };
static uint64_t histogram[POWERS * BUCKETS], latencies, longest;

void add_latency(uint64_t latency) {
    int power = latency < BUCKETS ? 0 : 64 - 7 - __builtin_clzll(latency);
    histogram[power * BUCKETS + (power ? latency >> (power - 1) & (BUCKETS - 1) : latency)]++;
    latencies++;
    if (latency > longest) longest = latency;
}

double quantile(double share) {
    uint64_t wanted = share * latencies + 0.5, count = 0;
    for (int index = 0; wanted < latencies && index < POWERS * BUCKETS; index++) {
        int power = index / BUCKETS;
        if ((count += histogram[index]) < wanted || !count) continue;
        uint64_t least = power ? (uint64_t)(BUCKETS + index % BUCKETS) << (power - 1) : (uint64_t)index;
        uint64_t middle = least + (power ? (1ull << (power - 1)) / 2 : 0);
        return (middle < longest ? middle : longest) / 1e6;
    }
    return longest / 1e6;
}

/* The scheduler counts the time of each thread in nanoseconds, but not that of threads that have ended. */
static double threads_seconds(void) {
    char path[300];
    double seconds = 0;
    snprintf(path, sizeof path, "/proc/%ld/task", options.server);
    DIR *folder = opendir(path);
    if (!folder) fail("no process %ld", options.server);
    for (struct dirent *entry; (entry = readdir(folder));) {
        unsigned long nanoseconds;
        snprintf(path, sizeof path, "/proc/%ld/task/%.20s/schedstat", options.server, entry->d_name);
        FILE *file = *entry->d_name == '.' ? NULL : fopen(path, "r");
        if (!file) continue;
        if (fscanf(file, "%lu", &nanoseconds) == 1) seconds += nanoseconds / 1e9;
        fclose(file);
    }
    closedir(folder);
    return seconds;
}

struct usage server_usage(void) {
    char path[64], text[1024];
    unsigned long user, system;
    long pages;
    if (!options.server) return (struct usage){0};
    snprintf(path, sizeof path, "/proc/%ld/stat", options.server);
    FILE *file = fopen(path, "r");
    if (!file) fail("no process %ld", options.server);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    char *fields = strrchr(text, ')'); /* ends the name of the process, which may contain anything */
    static const char format[] = ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %*u %*u %ld";
    if (!fields || sscanf(fields, format, &user, &system, &pages) != 3)
        fail("cannot read %s", path);
    double ticks = (double)(user + system) / sysconf(_SC_CLK_TCK), exact = threads_seconds();
    return (struct usage){ticks > exact ? ticks : exact, (double)pages * sysconf(_SC_PAGESIZE)};
}
