/* What the files of the load generator share. */
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sizes of a channel's name and of an event's data have bounds, so that a request and a frame of a client fit. */
enum { NAME = 96, DATA = 10000, MARK = 43 };
#define SECOND 1000000000ull

/* main.c */

/* What has happened so far; `connecting`, `subscribing` and `in_flight` is what goes on. */
extern struct counts {
    uint64_t connecting, established, failed, subscribing, subscribed, refused, disconnected;
    uint64_t delivered, duplicated, reordered;
    uint64_t sent, acknowledged, errors, in_flight;
} counts;

uint64_t now(void);
uint64_t dice(void);
void *allocate(size_t count, size_t size);
/* Ends the program: there is no report. */
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);
/* Says what went wrong first; the rest mostly follows from it. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);

/* options.c */

extern struct options {
    const char *key, *secret, *app, *template, *post_path, *post_body, *token;
    long port, clients, channels, publishers, connecting_max, messages, size, warmup, server;
    double rate, duration, idle, linger;
    enum { HTTP, POST, NONE } publishing;
    int random, storm, tls;
} options;

void parse_options(int count, char **arguments);

/* wire.c */

void prepare_wire(void);
struct sockaddr_in server_address(void);
/* Reports events of a socket under the index of a client, or the number of clients plus that of a publisher. */
void watch(int fd, int operation, uint32_t events, uint64_t index);
/* Handles what happens, for at most so many nanoseconds. */
void turn(uint64_t patience);
SSL *begin_tls(int fd);
int must_wait(SSL *tls, int result);
/* Returns -1 if there is nothing yet; 0 at the end of the stream, or after an error. */
ssize_t receive(int fd, SSL *tls, void *bytes, size_t count);
/* Sends all or fails: what is sent here always fits into the empty buffer of a socket. */
int transmit(int fd, SSL *tls, const void *bytes, size_t count);
void sign(char hex[65], const char *text, size_t count);
void digest(char hex[33], const char *text, size_t count);

/* text.c */

struct mark {
    uint32_t publisher, number, channel; /* the number counts the publisher's events on the channel */
    uint64_t time;
};

void put_mark(char text[MARK + 1], struct mark mark);
int find_mark(const uint8_t *text, size_t count, struct mark *mark);
/* Appends to a text that has room for `size` bytes in all. Returns its new length. */
__attribute__((format(printf, 4, 5))) size_t put(char *text, size_t size, size_t length, const char *format, ...);
/* Copies a template: %d becomes the number, %r the client, %m the mark. Returns its length. */
size_t expand(char *text, size_t size, const char *template, long number, long client, const char *mark);

/* clients.c */

extern char (*channel_names)[NAME];

void prepare_clients(void);
void open_client(long index);
/* Subscribes a client unless it is not connected. */
void subscribe_client(long index);
void handle_client(long index, uint32_t events);
/* Returns the number of subscribers by channel. */
uint32_t *count_subscribers(void);

/* publishers.c */

void prepare_publishers(void);
/* Sends a request if a publisher is free. Its latency counts from `due`; 0: from now. */
int publish(uint64_t due);
void handle_publisher(long index);
/* Returns how many events all clients together must get. */
uint64_t expected_events(const uint32_t *subscribers);

/* measures.c */

struct usage {
    double cpu, bytes; /* seconds of CPU time; resident memory */
};

void add_latency(uint64_t latency);
/* Returns a quantile of the latencies in milliseconds. */
double quantile(double share);
/* Returns what the server has used; nothing, if nobody said which process it is. */
struct usage server_usage(void);
