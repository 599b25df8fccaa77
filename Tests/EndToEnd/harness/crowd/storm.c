/* Thousands of drivers that connect at once, each subscribes to the driver's own channel and must get certain
   notifications: exactly these, in order.

   Usage: storm PORT DRIVERS FIRST COUNT
   Each notification has a number n in its data; each driver must get FIRST, FIRST + 1, ..., COUNT in all. Prints the
   seconds until all are subscribed and served, then those from a driver's subscription to the last of its
   notifications: the median, the 99th percentile and the longest. Ends when standard input ends; meanwhile it reads on,
   and anything else that arrives makes it fail.
   gcc -O2 -std=gnu11 -Wall -Wextra -Werror storm.c -lcrypto */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* At most BACKLOG drivers connect at a time, or the kernel would drop their SYNs. */
enum { BACKLOG = 2000, ADDRESSES = 16, INPUT = 8192 };
enum stage { CONNECTING, UPGRADING, ESTABLISHED, SUBSCRIBING, SUBSCRIBED };

struct driver {
    int fd, next;
    enum stage stage;
    size_t filled;
    double subscribed_at, served_at;
    unsigned char input[INPUT];
};

static struct driver *drivers;
static int count, opened, subscribed, served, queue, first, expected;
static uint16_t port;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void surprise(struct driver *driver, const char *what, const unsigned char *bytes, size_t size) {
    fprintf(stderr, "driver s%d: %s: %.*s\n", (int)(driver - drivers), what, (int)size, bytes);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void dial(struct driver *driver, int index) {
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + index % ADDRESSES)};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = driver};
    int one = 1;
    driver->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (driver->fd < 0) fail("socket");
    driver->next = first;
    setsockopt(driver->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    if (bind(driver->fd, (struct sockaddr *)&from, sizeof from)) fail("bind");
    if (connect(driver->fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS) fail("connect");
    if (epoll_ctl(queue, EPOLL_CTL_ADD, driver->fd, &event)) fail("epoll_ctl");
}

static void transmit(struct driver *driver, const void *bytes, size_t size) {
    if (send(driver->fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size) fail("send");
}

/* Sends a frame with the mask 0. */
static void send_frame(struct driver *driver, int opcode, const void *payload, size_t size) {
    unsigned char frame[512] = {0x80 | opcode};
    size_t head = size < 126 ? 6 : 8;
    if (size < 126) frame[1] = 0x80 | size;
    else frame[1] = 0x80 | 126, frame[2] = size >> 8, frame[3] = size;
    memcpy(frame + head, payload, size);
    transmit(driver, frame, head + size);
}

static void upgrade(struct driver *driver) {
    static const char request[] = "GET /app/key1?protocol=7 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                                  "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    transmit(driver, request, sizeof request - 1);
    driver->stage = UPGRADING;
}

/* Subscribes with a signature of the application's backend, which counts as the owner's. */
static void subscribe(struct driver *driver, const unsigned char *established, size_t size) {
    char text[128], message[400], hex[65];
    unsigned char digest[32];
    const char *start = memmem(established, size, "socket_id\\\":\\\"", 14);
    if (!start) surprise(driver, "no socket_id", established, size);
    int index = driver - drivers;
    snprintf(text, sizeof text, "%.*s:private-driver-s%d", (int)strspn(start + 14, "0123456789."), start + 14, index);
    HMAC(EVP_sha256(), "secret1", 7, (unsigned char *)text, strlen(text), digest, NULL);
    for (int byte = 0; byte < 32; byte++) snprintf(hex + 2 * byte, 3, "%02x", digest[byte]);
    int length = snprintf(message, sizeof message,
                          "{\"event\":\"pusher:subscribe\",\"data\":{\"channel\":\"private-driver-s%d\",\"auth\":\"key1:%s\"}}",
                          index, hex);
    driver->stage = SUBSCRIBING;
    driver->subscribed_at = now();
    send_frame(driver, 1, message, length);
}

static void complete(struct driver *driver) {
    driver->served_at = now();
    served++;
}

static void handle_text(struct driver *driver, const unsigned char *text, size_t size) {
    unsigned char *number = memmem(text, size, "\\\"n\\\":", 6);
    if (memmem(text, size, "connection_established", 22) && driver->stage == ESTABLISHED) subscribe(driver, text, size);
    else if (memmem(text, size, "subscription_succeeded", 22) && driver->stage == SUBSCRIBING) {
        driver->stage = SUBSCRIBED;
        subscribed++;
        if (!expected) complete(driver);
    } else if (number && driver->stage == SUBSCRIBED && driver->next < first + expected && atoi((char *)number + 6) == driver->next) {
        if (++driver->next == first + expected) complete(driver);
    } else surprise(driver, "not expected", text, size);
}

/* Handles the frames in the input. */
static void handle(struct driver *driver) {
    unsigned char *input = driver->input, *end = input + driver->filled;
    if (driver->stage == UPGRADING) {
        unsigned char *body = memmem(input, driver->filled, "\r\n\r\n", 4);
        if (!body) return;
        if (memcmp(input, "HTTP/1.1 101", 12)) surprise(driver, "rejected", input, driver->filled);
        driver->stage = ESTABLISHED;
        input = body + 4;
    }
    while (end - input >= 2) {
        size_t size = input[1], head = 2;
        if (size == 126) {
            if (end - input < 4) break;
            size = input[2] << 8 | input[3], head = 4;
        } else if (size > 126) surprise(driver, "a huge frame", input, 2);
        if ((size_t)(end - input) < head + size) break;
        int opcode = input[0] & 15;
        if (opcode == 9) send_frame(driver, 10, input + head, size);
        else if (opcode == 1) handle_text(driver, input + head, size);
        else surprise(driver, "a strange frame", input, head + size);
        input += head + size;
    }
    driver->filled = end - input;
    memmove(driver->input, input, driver->filled);
}

static void receive(struct driver *driver) {
    ssize_t size;
    while ((size = recv(driver->fd, driver->input + driver->filled, INPUT - driver->filled, 0)) > 0) {
        driver->filled += size;
        handle(driver);
        if (driver->filled == INPUT) surprise(driver, "too long", driver->input, 100);
    }
    if (size == 0 || errno != EAGAIN) fail("the server closed a connection");
}

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static void print(double begin) {
    double *times = calloc(count, sizeof *times);
    for (int index = 0; index < count; index++) times[index] = drivers[index].served_at - drivers[index].subscribed_at;
    qsort(times, count, sizeof *times, compare);
    printf("%.3f %.3f %.3f %.3f\n", now() - begin, times[count / 2], times[count * 99 / 100], times[count - 1]);
    fflush(stdout);
    free(times);
}

int main(int arguments, char **values) {
    struct rlimit limit;
    struct epoll_event events[512], end = {.events = EPOLLIN};
    if (arguments != 5) return 64;
    port = htons(atoi(values[1]));
    count = atoi(values[2]), first = atoi(values[3]), expected = atoi(values[4]);
    drivers = calloc(count, sizeof *drivers);
    queue = epoll_create1(EPOLL_CLOEXEC);
    if (getrlimit(RLIMIT_NOFILE, &limit)) fail("getrlimit");
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (epoll_ctl(queue, EPOLL_CTL_ADD, 0, &end)) fail("epoll_ctl");
    double begin = now();
    int is_printed = 0;
    for (;;) {
        for (; opened < count && opened - subscribed < BACKLOG; opened++) dial(&drivers[opened], opened);
        if (served == count && !is_printed++) print(begin);
        int ready = epoll_wait(queue, events, 512, is_printed ? -1 : 30000);
        if (ready <= 0) {
            fprintf(stderr, "of %d drivers, %d are subscribed, %d served\n", count, subscribed, served);
            return 1;
        }
        for (int index = 0; index < ready; index++) {
            struct driver *driver = events[index].data.ptr;
            if (!driver) return !is_printed;
            if (driver->stage == CONNECTING && events[index].events & EPOLLOUT) upgrade(driver);
            if (driver->stage != CONNECTING && events[index].events & EPOLLIN) receive(driver);
        }
    }
}
