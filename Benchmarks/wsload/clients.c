/* The clients: they connect, subscribe, and check what they get. */
#define _GNU_SOURCE
#include "wsload.h"
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* How many clients share an address: finding a free port takes long when few are left. */
enum { ADDRESS_SHARE = 5000 };
enum { INPUT = 1 << 20 };
enum { TEXT = 1, CLOSE = 8, PING = 9, PONG = 10 };
enum state { UNUSED, CONNECTING, SHAKING_HANDS, UPGRADING, ESTABLISHING, ESTABLISHED, SUBSCRIBING, SUBSCRIBED, CLOSED };

struct client {
    int fd;
    SSL *tls;
    enum state state;
    uint32_t channel, *next, *missing; /* by publisher: the number that comes next, how many before it are missing */
    size_t left, capacity;             /* of an incomplete frame */
    uint8_t *rest;
    char socket_id[44];
};

static struct client *clients;
char (*channel_names)[NAME];

static long index_of(const struct client *client) { return client - clients; }

static void disconnect(struct client *client, const char *why) {
    if (client->state == CLOSED) return;
    complain("client %ld lost its connection: %s", index_of(client), why);
    if (client->state < ESTABLISHED) counts.connecting--;
    if (client->state == SUBSCRIBING) counts.subscribing--;
    if (client->state < SUBSCRIBED) counts.failed++;
    else counts.disconnected++;
    client->state = CLOSED;
    SSL_free(client->tls);
    close(client->fd);
}

static void send_frame(struct client *client, int opcode, const void *payload, size_t count) {
    uint8_t frame[8 + 1024] = {0x80 | opcode}; /* the mask is 0 */
    size_t head = count < 126 ? 6 : 8;
    if (head + count > sizeof frame) fail("a frame of %zu bytes is too long", count);
    frame[1] = 0x80 | (count < 126 ? count : 126);
    if (count >= 126) frame[2] = count >> 8, frame[3] = count;
    memcpy(frame + head, payload, count);
    if (!transmit(client->fd, client->tls, frame, head + count)) disconnect(client, "cannot send");
}

static void dial(struct client *client) {
    struct sockaddr_in to = server_address(), from = {.sin_family = AF_INET};
    int one = 1, addresses = options.clients / ADDRESS_SHARE + 1;
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + index_of(client) % addresses);
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (client->fd < 0) fail("socket: %s", strerror(errno));
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(client->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    if (bind(client->fd, (struct sockaddr *)&from, sizeof from)) fail("bind: %s", strerror(errno));
    client->state = CONNECTING;
    counts.connecting++;
    watch(client->fd, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT, index_of(client));
    if (connect(client->fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS) disconnect(client, strerror(errno));
}

static void upgrade(struct client *client) {
    char request[400];
    int count = snprintf(request, sizeof request,
                         "GET /app/%s?protocol=7&client=wsload&version=1 HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\n"
                         "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", options.key, options.port);
    if (count >= (int)sizeof request) fail("the key is too long");
    client->state = UPGRADING;
    if (!transmit(client->fd, client->tls, request, count)) disconnect(client, "cannot send");
}

static void shake_hands(struct client *client) {
    int result = SSL_do_handshake(client->tls);
    if (result != 1 && !must_wait(client->tls, result)) return disconnect(client, "TLS handshake");
    watch(client->fd, EPOLL_CTL_MOD, EPOLLIN | (SSL_want_write(client->tls) ? EPOLLOUT : 0), index_of(client));
    if (result == 1) upgrade(client);
}

static void connected(struct client *client) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) return disconnect(client, strerror(error));
    if (options.tls) {
        client->tls = begin_tls(client->fd);
        client->state = SHAKING_HANDS;
        return shake_hands(client);
    }
    watch(client->fd, EPOLL_CTL_MOD, EPOLLIN, index_of(client));
    upgrade(client);
}

static void subscribe(struct client *client) {
    char message[512], text[sizeof client->socket_id + 1 + NAME], signature[65];
    const char *name = channel_names[client->channel];
    int count = snprintf(message, sizeof message, "{\"event\":\"pusher:subscribe\",\"data\":{\"channel\":\"%s\"", name);
    if (!strncmp(name, "private-", 8)) {
        int size = snprintf(text, sizeof text, "%s:%s", client->socket_id, name);
        sign(signature, text, size);
        count += snprintf(message + count, sizeof message - count, ",\"auth\":\"%s:%s\"", options.key, signature);
    }
    if (count + 3 > (int)sizeof message) fail("the key is too long");
    count += snprintf(message + count, sizeof message - count, "}}");
    client->state = SUBSCRIBING;
    counts.subscribing++;
    send_frame(client, TEXT, message, count);
}

static void count_event(struct client *client, struct mark mark, uint64_t time) {
    counts.delivered++;
    if (mark.number >= options.warmup) add_latency(time > mark.time ? time - mark.time : 0);
    if (options.publishing == POST) return; /* each request is for a client by chance, so nobody knows what comes next */
    if (mark.publisher >= options.publishers || mark.channel != client->channel) {
        counts.duplicated++; /* another channel's */
        complain("client %ld got an event of channel %u", index_of(client), mark.channel);
        return;
    }
    uint32_t *next = &client->next[mark.publisher], *missing = &client->missing[mark.publisher];
    if (mark.number >= *next) {
        *missing += mark.number - *next;
        *next = mark.number + 1;
    } else if (*missing) {
        *missing -= 1;
        counts.reordered++;
    } else counts.duplicated++;
}

static int contains(const uint8_t *text, size_t count, const char *word) {
    return memmem(text, count, word, strlen(word)) != NULL;
}

/* Returns 1 if the text has the connection's socket_id, and keeps that. */
static int read_socket_id(struct client *client, const uint8_t *text, size_t count) {
    static const char key[] = "socket_id\\\":\\\"", digits[] = "0123456789.";
    const uint8_t *start = memmem(text, count, key, sizeof key - 1), *end = text + count;
    size_t length = 0;
    if (!start) return 0;
    start += sizeof key - 1;
    while (start < end && memchr(digits, *start, sizeof digits - 1) && length < sizeof client->socket_id - 1)
        client->socket_id[length++] = *start++;
    return length > 0;
}

static void handle_text(struct client *client, const uint8_t *text, size_t count, uint64_t time) {
    struct mark mark;
    if (client->state == SUBSCRIBED && find_mark(text, count, &mark)) count_event(client, mark, time);
    else if (client->state == ESTABLISHING && read_socket_id(client, text, count)) {
        client->state = ESTABLISHED;
        counts.connecting--;
        counts.established++;
        if (options.storm) subscribe(client);
    } else if (client->state == SUBSCRIBING && contains(text, count, "subscription_succeeded")) {
        client->state = SUBSCRIBED;
        counts.subscribing--;
        counts.subscribed++;
    } else if (client->state == SUBSCRIBING &&
               (contains(text, count, "subscription_error") || contains(text, count, "pusher:error"))) {
        client->state = ESTABLISHED;
        counts.subscribing--;
        counts.refused++;
        complain("client %ld may not subscribe: %.*s", index_of(client), (int)count, text);
    } else if (contains(text, count, "pusher:ping")) {
        static const char pong[] = "{\"event\":\"pusher:pong\",\"data\":{}}";
        send_frame(client, TEXT, pong, sizeof pong - 1);
    } else if (contains(text, count, "pusher:error")) complain("client %ld: %.*s", index_of(client), (int)count, text);
}

static void handle_frame(struct client *client, int opcode, const uint8_t *payload, size_t count, uint64_t time) {
    char why[160];
    if (opcode == TEXT) handle_text(client, payload, count, time);
    else if (opcode == PING && count <= 125) send_frame(client, PONG, payload, count);
    else if (opcode == CLOSE && count >= 2) {
        snprintf(why, sizeof why, "close code %d %.*s", payload[0] << 8 | payload[1], (int)count - 2, payload + 2);
        disconnect(client, why);
    } else if (opcode == CLOSE) disconnect(client, "close frame");
}

/* Returns how many bytes the complete frames have. */
static size_t handle_frames(struct client *client, const uint8_t *input, size_t count, uint64_t time) {
    size_t done = 0;
    while (client->state != CLOSED && count - done >= 2) {
        const uint8_t *frame = input + done;
        size_t head = 2;
        uint64_t payload = frame[1] & 127;
        if (payload >= 126) head = payload == 126 ? 4 : 10;
        if (count - done < head) break;
        if (head > 2) payload = 0;
        for (size_t index = 2; index < head; index++) payload = payload << 8 | frame[index];
        if (payload > INPUT / 2) {
            disconnect(client, "too long a frame");
            break;
        }
        if (count - done < head + payload) break;
        handle_frame(client, frame[0] & 15, frame + head, payload, time);
        done += head + payload;
    }
    return done;
}

/* Returns the size of the response to the upgrade; 0 if it is incomplete. */
static size_t handle_upgrade(struct client *client, const uint8_t *input, size_t count) {
    const uint8_t *end = memmem(input, count, "\r\n\r\n", 4);
    if (!end) return 0;
    if (!contains(input, end - input, "HTTP/1.1 101") || !contains(input, end - input, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")) {
        char why[160];
        snprintf(why, sizeof why, "refused to upgrade: %.*s", (int)(end - input), input);
        disconnect(client, why);
        return 0;
    }
    client->state = ESTABLISHING;
    return end + 4 - input;
}

static void keep_rest(struct client *client, const uint8_t *rest, size_t count) {
    if (count > client->capacity) {
        client->capacity = count < 4096 ? 4096 : count * 2;
        if (!(client->rest = realloc(client->rest, client->capacity))) fail("out of memory");
    }
    if (count) memcpy(client->rest, rest, count);
    client->left = count;
}

/* All clients share one input buffer; only an incomplete frame is kept. */
static void read_some(struct client *client) {
    static uint8_t input[INPUT];
    size_t count = client->left, done = 0;
    if (count) memcpy(input, client->rest, count);
    ssize_t received = receive(client->fd, client->tls, input + count, sizeof input - count);
    if (received < 0) return;
    if (received == 0) return disconnect(client, "end of stream");
    uint64_t time = now();
    count += received;
    if (client->state == UPGRADING) done = handle_upgrade(client, input, count);
    if (client->state > UPGRADING) done += handle_frames(client, input + done, count - done, time);
    if (client->state != CLOSED) keep_rest(client, input + done, count - done);
}

void open_client(long index) { dial(&clients[index]); }

void subscribe_client(long index) {
    if (clients[index].state == ESTABLISHED) subscribe(&clients[index]);
}

void handle_client(long index, uint32_t events) {
    struct client *client = &clients[index];
    if (client->state == SHAKING_HANDS) return shake_hands(client);
    if (client->state == CONNECTING) {
        if (events & EPOLLOUT) connected(client);
        return;
    }
    while (client->state != CLOSED) {
        read_some(client);
        if (client->state == CLOSED || !client->tls || !SSL_has_pending(client->tls)) return;
    }
}

uint32_t *count_subscribers(void) {
    uint32_t *subscribers = allocate(options.channels, sizeof *subscribers);
    for (long index = 0; index < options.clients; index++)
        subscribers[clients[index].channel] += clients[index].state == SUBSCRIBED;
    return subscribers;
}

void prepare_clients(void) {
    channel_names = allocate(options.channels, sizeof *channel_names);
    for (long channel = 0; channel < options.channels; channel++)
        expand(channel_names[channel], NAME, options.template, channel, 0, "");
    clients = allocate(options.clients, sizeof *clients);
    uint32_t *seen = allocate(options.clients * options.publishers * 2, sizeof *seen);
    for (long index = 0; index < options.clients; index++, seen += options.publishers * 2) {
        clients[index].channel = index % options.channels;
        clients[index].next = seen;
        clients[index].missing = seen + options.publishers;
    }
}
