/* The publishers: backends with one request in flight each. */
#define _GNU_SOURCE
#include "wsload.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { RESPONSE = 65536, REQUEST = 16384 };

struct publisher {
    int fd, busy;
    SSL *tls;
    uint32_t channel; /* of the request in flight */
    size_t filled;
    char response[RESPONSE];
};

static struct publisher *publishers;
static uint32_t *numbers; /* by publisher and channel: the number of the next event */
static uint64_t *sent_to; /* by channel: events that its subscribers must get */

static void connect_publisher(struct publisher *publisher) {
    struct sockaddr_in to = server_address();
    int one = 1;
    publisher->filled = 0;
    publisher->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (publisher->fd < 0 || connect(publisher->fd, (struct sockaddr *)&to, sizeof to))
        fail("a publisher cannot connect: %s", strerror(errno));
    setsockopt(publisher->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    publisher->tls = options.tls ? begin_tls(publisher->fd) : NULL;
    if (publisher->tls && SSL_do_handshake(publisher->tls) != 1) fail("a publisher's TLS handshake failed");
    fcntl(publisher->fd, F_SETFL, O_NONBLOCK);
    watch(publisher->fd, EPOLL_CTL_ADD, EPOLLIN, options.clients + (publisher - publishers));
}

static struct mark next_mark(struct publisher *publisher, uint32_t channel, uint64_t due) {
    uint32_t index = publisher - publishers;
    return (struct mark){index, numbers[(size_t)index * options.channels + channel]++, channel, due};
}

/* Writes an event for a channel. Returns the request's size. */
static size_t put_event(struct publisher *publisher, char request[REQUEST], uint64_t due) {
    static char body[REQUEST], padding[DATA];
    static uint64_t turn;
    char mark[MARK + 1], md5_hex[33], query[300], text[400], signature[65];
    uint32_t channel = (options.random ? dice() : turn++) % options.channels;
    if (!*padding) memset(padding, 'x', sizeof padding);
    put_mark(mark, next_mark(publisher, channel, due));
    size_t count = put(body, sizeof body, 0, "{\"name\":\"bench-event\",\"channels\":[\"%s\"],\"data\":\"%s%.*s\"}",
                       channel_names[channel], mark, (int)options.size - MARK, padding);
    digest(md5_hex, body, count);
    put(query, sizeof query, 0, "auth_key=%s&auth_timestamp=%ld&auth_version=1.0&body_md5=%s", options.key,
        (long)time(NULL), md5_hex);
    size_t length = put(text, sizeof text, 0, "POST\n/apps/%s/events\n%s", options.app, query);
    sign(signature, text, length);
    publisher->channel = channel;
    sent_to[channel]++;
    return put(request, REQUEST, 0, "POST /apps/%s/events?%s&auth_signature=%s HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\n"
               "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
               options.app, query, signature, options.port, count, body);
}

/* Writes a request as the options want it. Returns its size. */
static size_t put_post(struct publisher *publisher, char request[REQUEST], uint64_t due) {
    static char body[REQUEST];
    char path[400], mark[MARK + 1];
    long client = dice() % options.clients;
    put_mark(mark, next_mark(publisher, 0, due));
    expand(path, sizeof path, options.post_path, counts.sent, client, mark);
    size_t count = expand(body, sizeof body, options.post_body, counts.sent, client, mark);
    return put(request, REQUEST, 0, "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\nAuthorization: Bearer %s\r\n"
               "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
               path, options.port, options.token, count, body);
}

/* In turn, so that all of them publish. */
static struct publisher *free_publisher(void) {
    static long last;
    for (long round = 0; round < options.publishers; round++) {
        last = (last + 1) % options.publishers;
        if (!publishers[last].busy) return &publishers[last];
    }
    return NULL;
}

int publish(uint64_t due) {
    static char request[REQUEST];
    struct publisher *publisher = free_publisher();
    if (!publisher) return 0;
    if (!due) due = now();
    size_t count = options.publishing == POST ? put_post(publisher, request, due) : put_event(publisher, request, due);
    publisher->busy = 1;
    counts.sent++;
    counts.in_flight++;
    /* After a failure nothing can arrive any more: the end of the stream then counts it. */
    if (!transmit(publisher->fd, publisher->tls, request, count)) shutdown(publisher->fd, SHUT_RDWR);
    return 1;
}

static void answered(struct publisher *publisher, int accepted) {
    publisher->busy = 0;
    counts.in_flight--;
    if (accepted) counts.acknowledged++;
    else {
        counts.errors++;
        if (options.publishing == HTTP) sent_to[publisher->channel]--;
    }
}

/* The server may close a connection that was idle, or after a response. */
static void reconnect(struct publisher *publisher) {
    if (publisher->busy) {
        complain("a publisher lost its connection before the response");
        answered(publisher, 0);
    }
    SSL_free(publisher->tls);
    close(publisher->fd);
    connect_publisher(publisher);
}

static void read_response(struct publisher *publisher) {
    char *response = publisher->response;
    size_t room = RESPONSE - 1 - publisher->filled;
    ssize_t received = receive(publisher->fd, publisher->tls, response + publisher->filled, room);
    if (received < 0) return;
    if (received == 0) return reconnect(publisher);
    response[publisher->filled += received] = 0;
    char *end = strstr(response, "\r\n\r\n"), *length = strcasestr(response, "\ncontent-length:");
    int status = 0;
    if (!end) return;
    if (!length || length > end || sscanf(response, "HTTP/1.1 %d", &status) != 1 || !publisher->busy)
        fail("not a response with a Content-Length to a request: %s", response);
    size_t size = end + 4 - response + strtoul(length + 16, NULL, 10);
    if (publisher->filled < size) return;
    if (publisher->filled > size) fail("more than one response to a request: %s", response);
    if (status != 200) complain("a request got: %s", response);
    answered(publisher, status == 200);
    publisher->filled = 0;
}

void handle_publisher(long index) {
    struct publisher *publisher = &publishers[index];
    do read_response(publisher);
    while (publisher->tls && SSL_has_pending(publisher->tls));
}

uint64_t expected_events(const uint32_t *subscribers) {
    uint64_t expected = options.publishing == POST ? counts.acknowledged : 0;
    for (long channel = 0; channel < options.channels; channel++) expected += sent_to[channel] * subscribers[channel];
    return expected;
}

void prepare_publishers(void) {
    sent_to = allocate(options.channels, sizeof *sent_to);
    numbers = allocate(options.channels * options.publishers, sizeof *numbers);
    publishers = allocate(options.publishers, sizeof *publishers);
    for (long index = 0; index < options.publishers; index++) connect_publisher(&publishers[index]);
}
