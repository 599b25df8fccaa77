/* The reference server: the least that a server of this protocol can do. It parses no JSON and checks no signatures, so
   that most of its CPU time is the kernel's. The gateway is compared with it, because the machine's speed varies.

   Usage: floor
   Prints "floor listening on 127.0.0.1:PORT", and serves until it is killed. A channel is the number at the end of its
   name, modulo CHANNELS; a connection subscribes to one channel, and an event goes to one. Events that arrive in one
   turn of the loop are sent at its end, with one system call for each subscriber.
   gcc -O2 -std=gnu11 -Wall -Wextra -Werror floor.c -lcrypto */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* MESSAGE is the size of the longest request or frame: an event made of it has at most 65,535 bytes, so that two bytes
   can hold its length. OUTPUT is how much may wait for a subscriber that does not read. */
enum { CONNECTIONS = 200000, CHANNELS = 65536, MESSAGE = 32768, NAME = 200, ROOM = 4096, OUTPUT = 16 << 20 };
enum { TEXT = 1, CLOSE = 8 };

struct bytes {
    uint8_t *start;
    size_t count, capacity;
};
struct connection { /* its index is its descriptor */
    int upgraded, subscribed, channel, place; /* the place among the channel's subscribers */
    struct bytes input, output;
};
struct channel {
    int *subscribers, count, capacity, waits;
    struct bytes frames; /* that wait for the end of the turn */
};

static struct connection *connections;
static struct channel *channels;
static int queue, waiting[CHANNELS], waiting_count; /* the channels whose frames wait */
static unsigned long established;

static void fail(const char *what) {
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void reserve(struct bytes *bytes, size_t room) {
    if (bytes->count + room <= bytes->capacity) return;
    bytes->capacity = (bytes->count + room) * 2;
    if (!(bytes->start = realloc(bytes->start, bytes->capacity))) fail("realloc");
}

static void append(struct bytes *bytes, const void *added, size_t count) {
    reserve(bytes, count);
    memcpy(bytes->start + bytes->count, added, count);
    bytes->count += count;
}

/* Most connections have nothing to keep between two messages: they shall use no memory then. */
static void discard(struct bytes *bytes) {
    free(bytes->start);
    *bytes = (struct bytes){0};
}

static void watch(int fd, int operation, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (epoll_ctl(queue, operation, fd, &event)) fail("epoll_ctl");
}

static void transmit(int fd, const void *bytes, size_t count) {
    struct bytes *output = &connections[fd].output;
    ssize_t sent = output->count ? 0 : send(fd, bytes, count, MSG_NOSIGNAL);
    if (sent == (ssize_t)count) return;
    if (sent < 0 && errno != EAGAIN) return; /* the queue will say that the connection has ended */
    if (sent < 0) sent = 0;
    if (output->count + count > OUTPUT) {
        shutdown(fd, SHUT_RDWR);
        return;
    }
    append(output, (const uint8_t *)bytes + sent, count - sent);
    watch(fd, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
}

static void transmit_rest(int fd) {
    struct bytes *output = &connections[fd].output;
    if (!output->count) return;
    ssize_t sent = send(fd, output->start, output->count, MSG_NOSIGNAL);
    if (sent > 0) memmove(output->start, output->start + sent, output->count -= sent);
    if (output->count) return;
    discard(output);
    watch(fd, EPOLL_CTL_MOD, EPOLLIN);
}

static void subscribe(int fd, int number) {
    struct connection *connection = &connections[fd];
    struct channel *channel = &channels[number];
    if (channel->count == channel->capacity) {
        channel->capacity = channel->capacity ? channel->capacity * 2 : 2;
        channel->subscribers = realloc(channel->subscribers, channel->capacity * sizeof *channel->subscribers);
        if (!channel->subscribers) fail("realloc");
    }
    connection->subscribed = 1;
    connection->channel = number;
    connection->place = channel->count;
    channel->subscribers[channel->count++] = fd;
}

static void disconnect(int fd) {
    struct connection *connection = &connections[fd];
    if (connection->subscribed) {
        struct channel *channel = &channels[connection->channel];
        int last = channel->subscribers[--channel->count];
        channel->subscribers[connection->place] = last;
        connections[last].place = connection->place;
    }
    discard(&connection->input);
    discard(&connection->output);
    *connection = (struct connection){0};
    close(fd);
}

/* Writes the head of a text frame. Returns its size. */
static size_t put_head(uint8_t *head, size_t count) {
    head[0] = 0x80 | TEXT;
    if (count < 126) {
        head[1] = count;
        return 2;
    }
    head[1] = 126;
    head[2] = count >> 8;
    head[3] = count;
    return 4;
}

static void transmit_text(int fd, const char *text, size_t count) {
    uint8_t frame[4 + 512];
    size_t head = put_head(frame, count);
    memcpy(frame + head, text, count);
    transmit(fd, frame, head + count);
}

/* Returns the value behind a key that ends in a quote, and sets its length; NULL if there is none. */
static const char *value(const char *text, size_t count, const char *key, int *length) {
    const char *start = memmem(text, count, key, strlen(key));
    if (!start) return NULL;
    start += strlen(key);
    const char *end = memchr(start, '"', text + count - start);
    if (!end) return NULL;
    *length = end - start < NAME ? end - start : NAME;
    return start;
}

static int channel_number(const char *name, int length) {
    int start = length, number = 0;
    while (start > 0 && name[start - 1] >= '0' && name[start - 1] <= '9') start--;
    for (int index = start; index < length; index++) number = (number * 10 + name[index] - '0') % CHANNELS;
    return number;
}

static void publish(const char *body, size_t count) {
    int length;
    const char *name = value(body, count, "\"channels\":[\"", &length), *data = memmem(body, count, "\"data\":\"", 8);
    if (!name || !data || data + 8 > body + count - 2) return;
    data += 8;
    char start[64 + NAME];
    size_t start_count = snprintf(start, sizeof start, "{\"event\":\"bench-event\",\"channel\":\"%.*s\",\"data\":\"",
                                  length, name);
    size_t data_count = body + count - 2 - data; /* the body ends in "} */
    int number = channel_number(name, length);
    struct channel *channel = &channels[number];
    reserve(&channel->frames, 4 + start_count + data_count + 2);
    channel->frames.count += put_head(channel->frames.start + channel->frames.count, start_count + data_count + 2);
    append(&channel->frames, start, start_count);
    append(&channel->frames, data, data_count);
    append(&channel->frames, "\"}", 2);
    if (channel->waits) return;
    channel->waits = 1;
    waiting[waiting_count++] = number;
}

static void transmit_waiting(void) {
    for (int index = 0; index < waiting_count; index++) {
        struct channel *channel = &channels[waiting[index]];
        for (int place = 0; place < channel->count; place++)
            transmit(channel->subscribers[place], channel->frames.start, channel->frames.count);
        channel->frames.count = channel->waits = 0;
    }
    waiting_count = 0;
}

static void upgrade(int fd, const char *key) {
    char text[24 + 36 + 1], accept[29], response[256], message[160];
    uint8_t digest[SHA_DIGEST_LENGTH];
    snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    SHA1((uint8_t *)text, strlen(text), digest);
    EVP_EncodeBlock((uint8_t *)accept, digest, sizeof digest);
    unsigned long id = ++established;
    size_t count = snprintf(message, sizeof message,
                            "{\"event\":\"pusher:connection_established\","
                            "\"data\":\"{\\\"socket_id\\\":\\\"%lu.%lu\\\",\\\"activity_timeout\\\":120}\"}", id, id * 7);
    size_t head = snprintf(response, sizeof response,
                           "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           "Sec-WebSocket-Accept: %s\r\n\r\n", accept);
    uint8_t both[sizeof response + 4 + sizeof message];
    memcpy(both, response, head);
    head += put_head(both + head, count);
    memcpy(both + head, message, count);
    transmit(fd, both, head + count);
    connections[fd].upgraded = 1;
}

/* Returns the size of the request; 0 if it is incomplete, -1 if it is not one. A zero follows the text. */
static ssize_t handle_request(int fd, char *text, size_t count) {
    char *end = memmem(text, count, "\r\n\r\n", 4);
    if (!end) return 0;
    size_t head = end + 4 - text;
    if (*text == 'P') {
        const char *header = strcasestr(text, "content-length:"),
                   response[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
        size_t body = header ? strtoul(header + 15, NULL, 10) : 0;
        if (body < 2 || body > MESSAGE) return -1;
        if (count < head + body) return 0;
        publish(text + head, body);
        transmit(fd, response, sizeof response - 1);
        return head + body;
    }
    char *key = strcasestr(text, "sec-websocket-key:");
    if (!key || key > end) return -1;
    key += 18;
    upgrade(fd, key + strspn(key, " "));
    return head;
}

static void handle_text(int fd, const char *text, size_t count) {
    int length;
    const char *name = value(text, count, "\"channel\":\"", &length);
    if (!name || connections[fd].subscribed || !memmem(text, count, "pusher:subscribe", 16)) return;
    char message[128 + NAME];
    subscribe(fd, channel_number(name, length));
    size_t size = snprintf(message, sizeof message, "{\"event\":\"pusher_internal:subscription_succeeded\","
                           "\"channel\":\"%.*s\",\"data\":\"{}\"}", length, name);
    transmit_text(fd, message, size);
}

/* Returns the size of the frame; 0 if it is incomplete, -1 if the connection shall end. */
static ssize_t handle_frame(int fd, uint8_t *frame, size_t count) {
    if (count < 8 && (count < 6 || (frame[1] & 127) >= 126)) return 0;
    size_t payload = frame[1] & 127, head = 6;
    if (payload == 127) return -1;
    if (payload == 126) {
        payload = frame[2] << 8 | frame[3];
        head = 8;
    }
    if (count < head + payload) return payload > MESSAGE ? -1 : 0;
    for (size_t index = 0; index < payload; index++) frame[head + index] ^= frame[head - 4 + (index & 3)];
    if ((frame[0] & 15) == CLOSE) return -1;
    if ((frame[0] & 15) == TEXT) handle_text(fd, (char *)frame + head, payload);
    return head + payload;
}

static void receive(int fd) {
    struct connection *connection = &connections[fd];
    struct bytes *input = &connection->input;
    reserve(input, ROOM + 1);
    ssize_t count = recv(fd, input->start + input->count, input->capacity - input->count - 1, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return disconnect(fd);
    input->count += count;
    input->start[input->count] = 0;
    size_t done = 0;
    while (done < input->count) {
        uint8_t *start = input->start + done;
        ssize_t size = connection->upgraded ? handle_frame(fd, start, input->count - done)
                                            : handle_request(fd, (char *)start, input->count - done);
        if (size < 0) return disconnect(fd);
        if (size == 0) break;
        done += size;
    }
    memmove(input->start, input->start + done, input->count -= done);
    if (input->count > 2 * MESSAGE) return disconnect(fd);
    if (!input->count) discard(input);
}

static void accept_some(int listener) {
    int one = 1;
    for (int round = 0; round < 64; round++) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EAGAIN || errno == ECONNABORTED)) return;
        if (fd < 0) fail("accept");
        if (fd >= CONNECTIONS) {
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        watch(fd, EPOLL_CTL_ADD, EPOLLIN);
    }
}

/* Listens on a free port, and prints it. */
static int listen_somewhere(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) || listen(listener, 4096) ||
        getsockname(listener, (struct sockaddr *)&address, &size))
        fail("cannot listen on 127.0.0.1");
    printf("floor listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

/* As many descriptors as allowed, at most CONNECTIONS. Root may allow itself more. */
static void allow_connections(void) {
    struct rlimit limit, wanted = {CONNECTIONS, CONNECTIONS};
    if (!setrlimit(RLIMIT_NOFILE, &wanted) || getrlimit(RLIMIT_NOFILE, &limit)) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int count, char **arguments) {
    (void)arguments;
    if (count != 1) {
        fputs("usage: floor (it prints the port that it listens on)\n", stderr);
        return 64;
    }
    allow_connections();
    connections = calloc(CONNECTIONS, sizeof *connections);
    channels = calloc(CHANNELS, sizeof *channels);
    queue = epoll_create1(EPOLL_CLOEXEC);
    if (!connections || !channels || queue < 0) fail("cannot start");
    int listener = listen_somewhere();
    watch(listener, EPOLL_CTL_ADD, EPOLLIN);
    for (;;) {
        struct epoll_event ready[512];
        int ready_count = epoll_wait(queue, ready, 512, -1);
        if (ready_count < 0 && errno != EINTR) fail("epoll_wait");
        for (int index = 0; index < ready_count; index++) {
            int fd = ready[index].data.fd;
            if (fd == listener) {
                accept_some(listener);
                continue;
            }
            if (ready[index].events & EPOLLOUT) transmit_rest(fd);
            if (ready[index].events & ~EPOLLOUT) receive(fd);
        }
        transmit_waiting();
    }
}
