/* The load generator: clients that subscribe over WebSockets, and backends that publish to them over HTTP, all of them in
   one thread. It checks that each client gets each event of its channel once and in order, and measures the latency
   from a request (with --rate: from the time at which it was due) to the event at each client. It reads only what it
   must of a frame, because it shares a machine with the server that it measures.

   Prints a report to standard output: one JSON object, whose members table.py uses. Progress, and what went wrong first,
   goes to standard error. Exits with 1 if anything was lost, repeated, reordered or refused, with 2 if there is no
   report. `wsload --help` explains the options.
   gcc -O2 -std=gnu11 -Wall -Wextra -Werror *.c -lssl -lcrypto */
#define _GNU_SOURCE
#include "wsload.h"
#include <errno.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <time.h>

/* How long clients may take to connect or to subscribe, and how long the generator waits for an event; seconds. */
enum { PATIENCE = 120, LAST_EVENT = 10 };
/* How many clients subscribe at a time. */
enum { SUBSCRIBING_MAX = 256 };
/* How often loops look at the clock, in nanoseconds. */
enum { TICK = 20000000 };

struct counts counts;

uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

/* The same numbers in each run. */
uint64_t dice(void) {
    static uint64_t state = 0x9e3779b97f4a7c15;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) fail("out of memory");
    return memory;
}

static void print_problem(const char *format, va_list arguments) {
    fputs("wsload: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_problem(format, arguments);
    exit(2);
}

void complain(const char *format, ...) {
    static int complained;
    va_list arguments;
    va_start(arguments, format);
    if (!complained++) print_problem(format, arguments);
    va_end(arguments);
}

static void wait_for(double seconds) {
    for (uint64_t end = now() + seconds * SECOND; now() < end;) turn(TICK);
}

static void connect_clients(void) {
    uint64_t end = now() + PATIENCE * SECOND;
    long opened = 0;
    while (opened < options.clients || counts.connecting || counts.subscribing) {
        while (opened < options.clients && counts.connecting + counts.subscribing < (uint64_t)options.connecting_max)
            open_client(opened++);
        turn(TICK);
        if (now() > end) fail("after %d s only %lu clients are connected", PATIENCE, counts.established);
    }
}

static void subscribe_clients(void) {
    uint64_t end = now() + PATIENCE * SECOND;
    long next = 0;
    while (next < options.clients || counts.subscribing) {
        while (next < options.clients && counts.subscribing < SUBSCRIBING_MAX) subscribe_client(next++);
        if (counts.subscribing) turn(TICK);
        if (now() > end) fail("after %d s only %lu clients are subscribed", PATIENCE, counts.subscribed);
    }
}

/* Publishes all, and waits for the responses. At a rate, an event for which no publisher is free keeps the time at which
   it was due: a slow server cannot hide its latency. */
static void publish_all(void) {
    uint64_t start = now(), end = options.duration ? start + options.duration * SECOND : UINT64_MAX;
    uint64_t messages = options.duration ? UINT64_MAX : (uint64_t)options.messages;
    double interval = options.rate ? SECOND / options.rate : 0, due = start;
    while (counts.sent < messages || counts.in_flight) {
        uint64_t time = now(), patience = TICK;
        if (time >= end && messages > counts.sent) messages = counts.sent;
        while (counts.sent < messages && due <= time && publish(interval ? due : 0)) due += interval;
        if (counts.sent < messages && due > time && due - time < patience) patience = due - time;
        turn(patience);
    }
}

static void wait_for_events(uint64_t expected) {
    uint64_t before = counts.delivered, end = now() + LAST_EVENT * SECOND;
    while (counts.delivered < expected && now() < end) {
        turn(TICK);
        if (counts.delivered != before) end = now() + LAST_EVENT * SECOND;
        before = counts.delivered;
    }
}

/* What the report contains besides the counts and the latencies. */
static struct {
    double connect_s, publish_s, connect_cpu, publish_cpu, bytes;
    uint64_t expected;
} measured;

static void measure_clients(void) {
    struct usage before = server_usage();
    uint64_t start = now();
    prepare_clients();
    connect_clients();
    measured.connect_s = (now() - start) / 1e9;
    measured.connect_cpu = server_usage().cpu - before.cpu;
    subscribe_clients();
    fprintf(stderr, "wsload: %lu clients connected in %.2f s, %lu subscribed\n", counts.established, measured.connect_s,
            counts.subscribed);
    wait_for(options.idle);
    measured.bytes = server_usage().bytes - before.bytes;
}

static void measure_events(void) {
    if (options.publishing == NONE) return;
    uint32_t *subscribers = count_subscribers();
    prepare_publishers();
    struct usage before = server_usage();
    uint64_t start = now();
    publish_all();
    measured.publish_s = (now() - start) / 1e9;
    measured.expected = expected_events(subscribers);
    free(subscribers);
    wait_for_events(measured.expected);
    measured.publish_cpu = server_usage().cpu - before.cpu;
}

/* Returns 1 if anything went wrong. */
static int report(void) {
    uint64_t arrived = counts.delivered - counts.duplicated;
    uint64_t lost = measured.expected > arrived ? measured.expected - arrived : 0;
    printf("{\"established\":%lu,\"connect_failed\":%lu,\"connect_s\":%.4f,\"subscribed\":%lu,\"subscribe_errors\":%lu,",
           counts.established, counts.failed, measured.connect_s, counts.subscribed, counts.refused);
    printf("\"published\":%lu,\"acked_requests\":%lu,\"http_errors\":%lu,\"publish_s\":%.4f,", counts.sent,
           counts.acknowledged, counts.errors, measured.publish_s);
    printf("\"expected\":%lu,\"delivered\":%lu,\"lost\":%lu,\"duplicated\":%lu,\"reordered\":%lu,\"disconnected\":%lu,",
           measured.expected, counts.delivered, lost, counts.duplicated, counts.reordered, counts.disconnected);
    printf("\"lat_ms\":{\"p50\":%.4f,\"p99\":%.4f,\"max\":%.4f},", quantile(0.5), quantile(0.99), quantile(1));
    printf("\"server\":{\"cpu_connect_s\":%.4f,\"cpu_publish_s\":%.4f,\"rss_per_conn\":%.0f}}\n", measured.connect_cpu,
           measured.publish_cpu, measured.bytes / options.clients);
    return counts.failed || counts.refused || counts.errors || lost || counts.duplicated || counts.reordered ||
           counts.disconnected;
}

static void allow_descriptors(rlim_t count) {
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur >= count) return;
    limit.rlim_cur = count;
    if (limit.rlim_max < count) limit.rlim_max = count; /* root may */
    if (setrlimit(RLIMIT_NOFILE, &limit)) fail("%lu file descriptors are needed, more than `ulimit -Hn` allows", count);
}

int main(int count, char **arguments) {
    parse_options(count, arguments);
    allow_descriptors(options.clients + options.publishers + 100);
    prepare_wire();
    measure_clients();
    measure_events();
    wait_for(options.linger);
    return report();
}
