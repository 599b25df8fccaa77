/* A well-behaved backend and its subscribers, at one or more servers: publishes at a steady rate, and measures the time
   from each publish to its delivery. One thread serves all servers, so a stall of this process or of the machine delays
   all of them alike.

   Usage: bystander SAMPLES RATE SUBSCRIBERS SERVER... (a server is NAME:PORT:plain or NAME:PORT:tls, on loopback)
   Prints "ready" when all are subscribed. Ends at the end of standard input, when all that was published is delivered:
   writes a line "SERVER TIME LATENCY" (ns of the monotonic clock) per event to SAMPLES, and per server a line "SERVER
   SENT LOST DISORDERED CLOSED REJECTED" to standard output.
   gcc -O2 -std=gnu11 bystander.c -lssl -lcrypto */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SERVERS = 4, SUBSCRIBERS = 100, INPUT = 65536, SECOND = 1000000000, PATIENCE = 10, BACKEND = 0 };
enum { TEXT = 1, CLOSE = 8, PING = 9, PONG = 10 };
#define PUSHER_PING "{\"event\":\"pusher:ping\",\"data\":{}}"

struct server;
struct peer { /* a connection: the backend's, or a subscriber's */
    struct server *server;
    int fd;
    enum { HTTP, UPGRADE, WEBSOCKET } protocol;
    SSL *tls;
    uint8_t input[INPUT], *output;
    size_t filled, waiting; /* bytes of input; bytes of output that the socket did not take yet */
    uint64_t next;          /* the sequence number that a subscriber expects */
};
struct server {
    const char *name;
    int port, tls;
    struct peer *peers[1 + SUBSCRIBERS]; /* the backend, then the subscribers */
    uint64_t sent, lost, disordered, closed, rejected, *sent_at, *latency;
    size_t capacity;
};

static struct server servers[SERVERS];
static int server_count, subscriber_count, subscribed;
static SSL_CTX *context;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void disconnected(struct peer *peer, const char *why) {
    fprintf(stderr, "%s: a %s lost its connection: %s\n", peer->server->name,
            peer->protocol ? "subscriber" : "backend", why);
    peer->server->closed++;
    close(peer->fd);
    peer->fd = -1;
}

/* As recv and send: -1 if it would block; 0 at the end of the stream, or after an error. */
static ssize_t transfer(struct peer *peer, int sending, void *bytes, size_t count) {
    ssize_t result;
    if (peer->tls) {
        result = sending ? SSL_write(peer->tls, bytes, count) : SSL_read(peer->tls, bytes, count);
        if (result > 0) return result;
        int error = SSL_get_error(peer->tls, result);
        return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? -1 : 0;
    }
    result = sending ? send(peer->fd, bytes, count, MSG_NOSIGNAL) : recv(peer->fd, bytes, count, 0);
    return result < 0 && errno != EAGAIN ? 0 : result;
}

static void flush(struct peer *peer) {
    while (peer->fd >= 0 && peer->waiting) {
        ssize_t count = transfer(peer, 1, peer->output, peer->waiting);
        if (count < 0) return;
        if (count == 0) return disconnected(peer, "cannot send");
        memmove(peer->output, peer->output + count, peer->waiting -= count);
    }
}

static void enqueue(struct peer *peer, const void *bytes, size_t count) {
    if (!(peer->output = realloc(peer->output, peer->waiting + count))) fail("realloc");
    memcpy(peer->output + peer->waiting, bytes, count);
    peer->waiting += count;
    flush(peer);
}

static void enqueue_frame(struct peer *peer, int opcode, const void *payload, size_t count) {
    uint8_t frame[6 + 125] = {0x80 | opcode, 0x80 | count}; /* the mask is 0 */
    memcpy(frame + 6, payload, count);
    enqueue(peer, frame, 6 + count);
}

static struct peer *dial(struct server *server) {
    struct peer *peer = calloc(1, sizeof *peer);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(server->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    peer->server = server;
    peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(peer->fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    if (server->tls) {
        peer->tls = SSL_new(context);
        SSL_set_fd(peer->tls, peer->fd);
        if (SSL_connect(peer->tls) != 1) fail("TLS handshake");
    }
    fcntl(peer->fd, F_SETFL, O_NONBLOCK);
    return peer;
}

static void hex(const uint8_t *bytes, int count, char *text) {
    for (int index = 0; index < count; index++) sprintf(text + 2 * index, "%02x", bytes[index]);
}

static void publish(struct server *server) {
    char body[200], query[300], text[400], request[1000], md5[33], signature[65];
    uint8_t digest[EVP_MAX_MD_SIZE];
    if (server->peers[BACKEND]->fd < 0) return;
    if (server->sent == server->capacity) {
        server->capacity = server->capacity ? server->capacity * 2 : 4096;
        server->sent_at = realloc(server->sent_at, server->capacity * sizeof(uint64_t));
        server->latency = realloc(server->latency, server->capacity * sizeof(uint64_t));
    }
    int length = sprintf(body, "{\"name\":\"position\",\"channels\":[\"bystander-0\"],\"data\":\"@%012lu@ 51.5,-0.12\"}",
                         server->sent);
    EVP_Digest(body, length, digest, NULL, EVP_md5(), NULL);
    hex(digest, 16, md5);
    sprintf(query, "auth_key=key1&auth_timestamp=%ld&auth_version=1.0&body_md5=%s", time(NULL), md5);
    int count = sprintf(text, "POST\n/apps/1001/events\n%s", query);
    HMAC(EVP_sha256(), "secret1", 7, (uint8_t *)text, count, digest, NULL);
    hex(digest, 32, signature);
    count = sprintf(request, "POST /apps/1001/events?%s&auth_signature=%s HTTP/1.1\r\nHost: localhost\r\n"
                             "Content-Length: %d\r\n\r\n%s", query, signature, length, body);
    server->latency[server->sent] = 0;
    server->sent_at[server->sent++] = now();
    enqueue(server->peers[BACKEND], request, count);
}

static void received_event(struct peer *peer, const char *payload) {
    struct server *server = peer->server;
    uint64_t number = strtoull(payload + 1, NULL, 10);
    if (number < peer->next) {
        server->disordered++;
        return;
    }
    server->lost += number - peer->next;
    peer->next = number + 1;
    if (peer == server->peers[1] && number < server->sent)
        server->latency[number] = now() - server->sent_at[number];
}

static void received_frame(struct peer *peer, int opcode, char *payload, size_t count) {
    char *mark;
    if (opcode == PING) return enqueue_frame(peer, PONG, payload, count);
    if (opcode == CLOSE) return disconnected(peer, "close frame");
    if (memmem(payload, count, "pusher:connection_established", 29)) {
        const char *message = "{\"event\":\"pusher:subscribe\",\"data\":{\"channel\":\"bystander-0\"}}";
        enqueue_frame(peer, TEXT, message, strlen(message));
    } else if (memmem(payload, count, "subscription_succeeded", 22)) subscribed++;
    else if ((mark = memchr(payload, '@', count))) received_event(peer, mark);
}

/* Consumes the first response or frame of the input. Returns its size, 0 if it is incomplete. */
static size_t consume(struct peer *peer) {
    uint8_t *input = peer->input;
    if (peer->protocol != WEBSOCKET) {
        uint8_t *end = memmem(input, peer->filled, "\r\n\r\n", 4);
        if (!end) return 0;
        size_t head = end + 4 - input;
        if (peer->protocol == UPGRADE) {
            peer->protocol = WEBSOCKET;
            return head;
        }
        char *length = strcasestr((char *)input, "content-length:");
        size_t body = length ? strtoul(length + 15, NULL, 10) : 0;
        if (peer->filled < head + body) return 0;
        if (memcmp(input, "HTTP/1.1 200", 12) && !peer->server->rejected++)
            fprintf(stderr, "%s: %.*s\n", peer->server->name, (int)(head + body), (char *)input);
        return head + body;
    }
    if (peer->filled < 4) return 0;
    size_t head = input[1] < 126 ? 2 : 4, count = input[1] < 126 ? input[1] : input[2] << 8 | input[3];
    if (peer->filled < head + count) return 0;
    received_frame(peer, input[0] & 15, (char *)input + head, count);
    return head + count;
}

static void receive(struct peer *peer) {
    ssize_t count;
    size_t size;
    while (peer->fd >= 0 && (count = transfer(peer, 0, peer->input + peer->filled, INPUT - 1 - peer->filled)) >= 0) {
        if (count == 0) return disconnected(peer, "end of stream");
        peer->input[peer->filled += count] = 0;
        while (peer->fd >= 0 && peer->filled && (size = consume(peer)))
            memmove(peer->input, peer->input + size, peer->filled -= size);
    }
}

/* Waits until then, or until something arrives, and handles it. Returns 0 at the end of standard input. */
static int wait_until(uint64_t then) {
    static struct pollfd polled[1 + SERVERS * (1 + SUBSCRIBERS)];
    struct peer *peers[1 + SERVERS * (1 + SUBSCRIBERS)];
    int count = 1;
    polled[0] = (struct pollfd){.fd = polled[0].revents ? -1 : STDIN_FILENO, .events = POLLIN};
    for (struct server *server = servers; server < servers + server_count; server++)
        for (int index = 0; index <= subscriber_count; index++) {
            struct peer *peer = server->peers[index];
            polled[count] = (struct pollfd){.fd = peer->fd, .events = POLLIN | (peer->waiting ? POLLOUT : 0)};
            peers[count++] = peer;
        }
    int64_t rest = (int64_t)(then - now());
    struct timespec timeout = {.tv_sec = rest > 0 ? rest / SECOND : 0, .tv_nsec = rest > 0 ? rest % SECOND : 0};
    if (ppoll(polled, count, &timeout, NULL) < 0) fail("ppoll");
    for (int index = 1; index < count; index++) {
        if (polled[index].revents & POLLOUT) flush(peers[index]);
        if (polled[index].revents & ~POLLOUT) receive(peers[index]);
    }
    return !polled[0].revents;
}

static void open_server(struct server *server, char *description) {
    server->name = strtok(description, ":");
    server->port = atoi(strtok(NULL, ":"));
    server->tls = !strcmp(strtok(NULL, ":"), "tls");
    for (int index = 0; index <= subscriber_count; index++) {
        struct peer *peer = server->peers[index] = dial(server);
        const char *request = "GET /app/key1?protocol=7 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                              "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        if (index == BACKEND) continue;
        peer->protocol = UPGRADE;
        enqueue(peer, request, strlen(request));
    }
}

static int complete(void) {
    for (struct server *server = servers; server < servers + server_count; server++)
        for (int index = 1; index <= subscriber_count; index++)
            if (server->peers[index]->fd >= 0 && server->peers[index]->next < server->sent) return 0;
    return 1;
}

static void report(struct server *server, FILE *samples) {
    for (uint64_t number = 0; number < server->sent; number++) {
        uint64_t latency = server->latency[number]; /* 0: it never arrived */
        fprintf(samples, "%s %lu %lu\n", server->name, server->sent_at[number],
                latency ? latency : now() - server->sent_at[number]);
    }
    for (int index = 1; index <= subscriber_count; index++) server->lost += server->sent - server->peers[index]->next;
    printf("%s %lu %lu %lu %lu %lu\n", server->name, server->sent, server->lost, server->disordered, server->closed,
           server->rejected);
}

int main(int count, char **arguments) {
    if (count < 5 || count - 4 > SERVERS) return 64;
    uint64_t interval = SECOND / atoi(arguments[2]), ping = now(), next;
    subscriber_count = atoi(arguments[3]) < SUBSCRIBERS ? atoi(arguments[3]) : SUBSCRIBERS;
    context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    for (; server_count < count - 4; server_count++) open_server(&servers[server_count], arguments[4 + server_count]);
    while (subscribed < server_count * subscriber_count) if (!wait_until(now() + SECOND)) return 1;
    puts("ready");
    fflush(stdout);
    for (next = now(); wait_until(next);) {
        if (now() < next) continue;
        next += interval;
        for (struct server *server = servers; server < servers + server_count; server++) publish(server);
        if (now() < ping + 30ull * SECOND) continue;
        ping = now();
        for (struct server *server = servers; server < servers + server_count; server++)
            for (int index = 1; index <= subscriber_count; index++)
                enqueue_frame(server->peers[index], TEXT, PUSHER_PING, strlen(PUSHER_PING));
    }
    uint64_t end = now() + (uint64_t)PATIENCE * SECOND;
    while (!complete() && now() < end) wait_until(now() + SECOND / 100);
    FILE *samples = fopen(arguments[1], "w");
    if (!samples) fail(arguments[1]);
    for (int index = 0; index < server_count; index++) report(&servers[index], samples);
    return fclose(samples);
}
