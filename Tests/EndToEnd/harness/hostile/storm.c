/* Thousands of clients that connect at once and leave at once, to a server on loopback.

   Usage: storm PORT CLIENTS
   Connects and subscribes all clients, then prints the seconds that it took. Reads a line from standard input: "reset"
   ends all connections with a RST, any other line closes them.
   gcc -O2 -std=gnu11 -Wall -Wextra -Werror storm.c */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* At most BACKLOG clients connect at a time, or the kernel would drop their SYNs. Each source address has only some
   28,000 ports, of which the kernel keeps those of closed connections for a minute. */
enum { BACKLOG = 2000, ADDRESSES = 16, INPUT = 1024 };
enum stage { CONNECTING, UPGRADING, SUBSCRIBING, SUBSCRIBED };

struct client {
    int fd;
    enum stage stage;
    size_t filled;
    char input[INPUT];
};

static struct client *clients;
static int count, opened, subscribed, queue;
static uint16_t port;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void dial(struct client *client, int index) {
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + index % ADDRESSES)};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = client};
    int one = 1;
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (client->fd < 0) fail("socket");
    setsockopt(client->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    if (bind(client->fd, (struct sockaddr *)&from, sizeof from)) fail("bind");
    if (connect(client->fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS) fail("connect");
    if (epoll_ctl(queue, EPOLL_CTL_ADD, client->fd, &event)) fail("epoll_ctl");
}

static void transmit(struct client *client, const char *bytes, size_t size, enum stage next) {
    if (send(client->fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size) fail("send");
    client->stage = next;
    client->filled = 0;
}

static void upgrade(struct client *client) {
    static const char request[] = "GET /app/key1?protocol=7 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                                  "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    transmit(client, request, sizeof request - 1, UPGRADING);
}

static void subscribe(struct client *client) {
    char frame[126] = {(char)0x81}; /* the mask is 0 */
    int size = snprintf(frame + 6, sizeof frame - 6, "{\"event\":\"pusher:subscribe\",\"data\":{\"channel\":\"storm-%d\"}}",
                        (int)(client - clients) % 100);
    frame[1] = 0x80 | size;
    transmit(client, frame, 6 + size, SUBSCRIBING);
}

static void receive(struct client *client) {
    ssize_t size;
    while ((size = recv(client->fd, client->input + client->filled, INPUT - client->filled, 0)) > 0) {
        client->filled += size;
        if (client->stage == UPGRADING && memmem(client->input, client->filled, "connection_established", 22))
            subscribe(client);
        else if (client->stage == SUBSCRIBING && memmem(client->input, client->filled, "subscription_succeeded", 22)) {
            client->stage = SUBSCRIBED;
            client->filled = 0;
            subscribed++;
        } else if (client->filled == INPUT || client->stage == SUBSCRIBED) client->filled = 0;
    }
    if (size == 0 || errno != EAGAIN) fail("the server closed a connection");
}

static void leave(int reset) {
    struct linger linger = {.l_onoff = 1};
    for (struct client *client = clients; client < clients + count; client++) {
        if (reset) setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        close(client->fd);
    }
}

int main(int arguments, char **values) {
    struct rlimit limit;
    struct epoll_event events[512];
    char line[16] = "";
    if (arguments != 3) return 64;
    port = htons(atoi(values[1]));
    count = atoi(values[2]);
    clients = calloc(count, sizeof *clients);
    queue = epoll_create1(EPOLL_CLOEXEC);
    if (getrlimit(RLIMIT_NOFILE, &limit)) fail("getrlimit");
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    double begin = now();
    while (subscribed < count) {
        for (; opened < count && opened - subscribed < BACKLOG; opened++) dial(&clients[opened], opened);
        int ready = epoll_wait(queue, events, 512, 15000);
        if (ready <= 0) fail("the server does not answer");
        for (int index = 0; index < ready; index++) {
            struct client *client = events[index].data.ptr;
            if (client->stage == CONNECTING && events[index].events & EPOLLOUT) upgrade(client);
            if (client->stage != CONNECTING && events[index].events & EPOLLIN) receive(client);
        }
    }
    printf("%.3f\n", now() - begin);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return 1;
    leave(!strcmp(line, "reset\n"));
    return 0;
}
