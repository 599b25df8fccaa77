/* Sends the same pushes with libcurl alone: the lower bound of CPU time for any sender that uses libcurl.
 *
 * Usage: pushfloor PORT CA_FILE TOKENS_FILE COUNT <PAYLOAD. Prints the CPU microseconds per push.
 * Uses one connection to localhost with at most WINDOW requests in flight. Starts with one request; each response
 * admits two more until the window is full. Reuses every handle, and checks only the status of a response. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { WINDOW = 1000, TOKENS = 1000 };

/* As long as an APNs provider token. */
static const char *authorization = "authorization: bearer eyJhbGciOiJFUzI1NiIsImtpZCI6IktFWTEyMzQ1NjcifQ"
    ".eyJpc3MiOiJURUFNMTIzNDU2IiwiaWF0IjoxNzYzNzg0MDAwfQ"
    ".00000000000000000000000000000000000000000000000000000000000000000000000000000000000000";

static char payload[4096], tokens[TOKENS][65];
static const char *port;
static long started;

static void fail(const char *reason) {
    fprintf(stderr, "pushfloor: %s\n", reason);
    exit(1);
}

static size_t ignore(void *bytes, size_t size, size_t count, void *user) { return size * count; }

static CURL *handle(const char *ca_file) {
    CURL *easy = curl_easy_init();
    if (!easy) fail("out of memory");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(payload));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, payload);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
    return easy;
}

static void start(CURLM *multi, CURL *easy) {
    char url[160], id[64];
    struct curl_slist *headers = NULL;
    snprintf(url, sizeof url, "https://localhost:%s/3/device/%s", port, tokens[started % TOKENS]);
    snprintf(id, sizeof id, "apns-id: 00000000-0000-0000-0000-%012ld", started++);
    const char *lines[] = {authorization, "content-type: application/json", "apns-topic: com.example.app", "apns-push-type: alert", id,
        "apns-priority: 10", "apns-expiration: 1763870400", "apns-collapse-id: 01J00000000000000000000000"};
    for (size_t line = 0; line < sizeof lines / sizeof *lines; line++) headers = curl_slist_append(headers, lines[line]);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, headers);
    curl_multi_add_handle(multi, easy);
}

/* Returns 0 if the request must be sent again: libcurl resets streams that nghttpd has answered early, and nghttpd ends a
 * connection with too many of them. */
static int finish(CURLM *multi, CURLMsg *message) {
    struct curl_slist *headers = NULL;
    long status = 0;
    if (message->data.result == CURLE_SEND_ERROR) {
        CURL *easy = message->easy_handle;
        curl_multi_remove_handle(multi, easy);
        curl_multi_add_handle(multi, easy);
        return 0;
    }
    if (message->data.result != CURLE_OK) fail(curl_easy_strerror(message->data.result));
    curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) fail("a response status is not 200");
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &headers);
    curl_multi_remove_handle(multi, message->easy_handle);
    curl_slist_free_all(headers);
    return 1;
}

int main(int argument_count, char **arguments) {
    if (argument_count != 5) fail("usage: pushfloor PORT CA_FILE TOKENS_FILE COUNT <PAYLOAD");
    port = arguments[1];
    FILE *file = fopen(arguments[3], "r");
    if (!file) fail("cannot open the tokens file");
    for (int token = 0; token < TOKENS; token++)
        if (fscanf(file, "%64s", tokens[token]) != 1) fail("too few tokens in the tokens file");
    payload[fread(payload, 1, sizeof payload - 1, stdin)] = 0;
    curl_global_init(CURL_GLOBAL_ALL);
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)WINDOW);
    CURL *idle[WINDOW];
    long count = atol(arguments[4]), completed = 0;
    int idle_count = WINDOW;
    for (int i = 0; i < WINDOW; i++) idle[i] = handle(arguments[2]);
    while (completed < count) {
        int number;
        CURLMsg *message;
        while (idle_count && started < count && started <= 2 * completed) start(multi, idle[--idle_count]);
        curl_multi_perform(multi, &number);
        while ((message = curl_multi_info_read(multi, &number))) {
            CURL *easy = message->easy_handle;
            if (!finish(multi, message)) continue;
            idle[idle_count++] = easy;
            completed++;
        }
        curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf("%.1f\n", seconds / count * 1e6);
    return 0;
}
