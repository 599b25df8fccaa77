/* The command line. */
#define _GNU_SOURCE
#include "wsload.h"
#include <getopt.h>

struct options options = {.key = "key1", .secret = "secret1", .app = "1001", .template = "bench-%d",
                          .clients = 1000, .channels = 1, .publishers = 1, .connecting_max = 128, .messages = 1000,
                          .size = 200};

static void print_usage(void) {
    puts("usage: wsload --port PORT [OPTION...]\n"
         "the server, on 127.0.0.1:\n"
         "  --port PORT  --tls                   its port; with TLS (the certificate is not checked)\n"
         "  --server-pid PID                     the process whose CPU time and memory are reported\n"
         "  --key KEY --secret SECRET --app-id ID  the application (key1, secret1, 1001)\n"
         "the clients:\n"
         "  --conns N --channels N               clients (1000), and channels among which they are divided (1)\n"
         "  --chan-template NAME                 the channels' names, with %d for the number (bench-%d)\n"
         "  --connect-window N                   how many connect at a time (128)\n"
         "  --storm                              each subscribes at once, rather than when all are connected\n"
         "  --idle S  --linger S                 seconds to wait before and after publishing (0)\n"
         "the events:\n"
         "  --pub http|post|none                 publish; send other requests; nothing (http)\n"
         "  --post-path P --post-body B --token T  the other requests, with a bearer token: %d in path or body is the\n"
         "                                       request's number, %r that of a random client, %m a mark. The body must\n"
         "                                       contain a mark, and the event of that request, too; one client gets it\n"
         "  --pub-conns N                        publishers, with one request in flight each (1)\n"
         "  --messages N | --duration S          how many (1000), or for how long\n"
         "  --rate N                             a second (0: as soon as a publisher is free)\n"
         "  --random                             to random channels, rather than to each in turn\n"
         "  --size N                             bytes of an event's data, 43 to 10000 (200)\n"
         "  --warmup N                           each publisher's first events on a channel are not in the latencies (0)");
    exit(0);
}

static double number(const char *option, const char *text, double least, double most) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= least && value <= most))
        fail("--%s %s: must be a number from %.0f to %.0f", option, text, least, most);
    return value;
}

/* An option sets a text, a whole number, a number, or a flag. */
static const char *publishing = "http";
static int help;
static const struct known {
    const char *name, **text;
    long *whole;
    double *real, least, most;
    int *flag;
} known[] = {
    {"port", .whole = &options.port, .least = 1, .most = 65535},
    {"server-pid", .whole = &options.server, .least = 1, .most = 1 << 22},
    {"key", .text = &options.key},
    {"secret", .text = &options.secret},
    {"app-id", .text = &options.app},
    {"conns", .whole = &options.clients, .least = 1, .most = 1e6},
    {"channels", .whole = &options.channels, .least = 1, .most = 1e6},
    {"chan-template", .text = &options.template},
    {"connect-window", .whole = &options.connecting_max, .least = 1, .most = 1e6},
    {"idle", .real = &options.idle, .most = 86400},
    {"linger", .real = &options.linger, .most = 86400},
    {"pub", .text = &publishing},
    {"post-path", .text = &options.post_path},
    {"post-body", .text = &options.post_body},
    {"token", .text = &options.token},
    {"pub-conns", .whole = &options.publishers, .least = 1, .most = 1000},
    {"messages", .whole = &options.messages, .least = 1, .most = 4e9},
    {"duration", .real = &options.duration, .most = 86400},
    {"rate", .real = &options.rate, .most = 1e6},
    {"size", .whole = &options.size, .least = MARK, .most = DATA},
    {"warmup", .whole = &options.warmup, .most = 4e9},
    {"random", .flag = &options.random},
    {"storm", .flag = &options.storm},
    {"tls", .flag = &options.tls},
    {"help", .flag = &help},
};
enum { KNOWN = sizeof known / sizeof *known };

static void set(const struct known *option, const char *text) {
    if (option->flag) *option->flag = 1;
    else if (option->text) *option->text = text;
    else if (option->whole) *option->whole = number(option->name, text, option->least, option->most);
    else *option->real = number(option->name, text, option->least, option->most);
}

static void check_publishing(void) {
    static const char *names[] = {[HTTP] = "http", [POST] = "post", [NONE] = "none"};
    while (strcmp(publishing, names[options.publishing]))
        if (++options.publishing > NONE) fail("--pub %s: must be http, post or none", publishing);
    if (options.publishing == POST &&
        !(options.post_path && options.post_body && options.token && strstr(options.post_body, "%m")))
        fail("--pub post needs --post-path, --token, and --post-body with %%m");
}

void parse_options(int count, char **arguments) {
    struct option table[KNOWN + 1] = {0};
    int index;
    for (index = 0; index < KNOWN; index++) {
        table[index].name = known[index].name;
        table[index].has_arg = known[index].flag ? no_argument : required_argument;
    }
    for (int result; (result = getopt_long(count, arguments, "", table, &index)) != -1;) {
        if (result == '?') exit(2);
        set(&known[index], optarg);
    }
    if (help) print_usage();
    if (optind < count) fail("what is %s? See wsload --help", arguments[optind]);
    if (!options.port) fail("--port is missing; see wsload --help");
    check_publishing();
}
