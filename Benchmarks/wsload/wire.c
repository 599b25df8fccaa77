/* Sockets, plain or with TLS, whose certificate is not checked; and signatures. */
#define _GNU_SOURCE
#include "wsload.h"
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static SSL_CTX *context;
static int queue;

static void prepare_tls(void) {
    if (!(context = SSL_CTX_new(TLS_client_method()))) fail("libssl cannot start");
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

SSL *begin_tls(int fd) {
    SSL *tls = SSL_new(context);
    if (!tls || !SSL_set_fd(tls, fd)) fail("libssl cannot start");
    SSL_set_connect_state(tls);
    return tls;
}

int must_wait(SSL *tls, int result) {
    int error = SSL_get_error(tls, result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return 1;
    ERR_clear_error(); /* or it would be taken for the next connection's */
    return 0;
}

ssize_t receive(int fd, SSL *tls, void *bytes, size_t count) {
    if (tls) {
        int result = SSL_read(tls, bytes, count);
        return result > 0 ? result : -must_wait(tls, result);
    }
    ssize_t result = recv(fd, bytes, count, 0);
    return result >= 0 ? result : errno == EAGAIN || errno == EINTR ? -1 : 0;
}

int transmit(int fd, SSL *tls, const void *bytes, size_t count) {
    ssize_t sent = tls ? SSL_write(tls, bytes, count) : send(fd, bytes, count, MSG_NOSIGNAL);
    if (tls && sent <= 0) ERR_clear_error();
    return sent == (ssize_t)count;
}

void watch(int fd, int operation, uint32_t events, uint64_t index) {
    struct epoll_event event = {.events = events, .data.u64 = index};
    if (epoll_ctl(queue, operation, fd, &event)) fail("epoll_ctl: %s", strerror(errno));
}

struct sockaddr_in server_address(void) {
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(options.port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

void turn(uint64_t patience) {
    static struct epoll_event ready[1024];
    struct timespec timeout = {patience / SECOND, patience % SECOND};
    int count = epoll_pwait2(queue, ready, 1024, &timeout, NULL);
    if (count < 0 && errno != EINTR) fail("epoll_pwait2: %s", strerror(errno));
    for (int index = 0; index < count; index++) {
        long number = ready[index].data.u64;
        if (number < options.clients) handle_client(number, ready[index].events);
        else handle_publisher(number - options.clients);
    }
}

/* The algorithms and the key are prepared once, because each publish needs them. */
static EVP_MAC_CTX *signer;
static EVP_MD *md5;
static EVP_MD_CTX *digester;

static void prepare_signatures(void) {
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "SHA256", 0),
                               OSSL_PARAM_construct_end()};
    signer = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
    md5 = EVP_MD_fetch(NULL, "MD5", NULL);
    digester = EVP_MD_CTX_new();
    if (!signer || !md5 || !digester ||
        !EVP_MAC_init(signer, (const uint8_t *)options.secret, strlen(options.secret), parameters))
        fail("libcrypto lacks HMAC, SHA-256 or MD5");
}

static void put_hex(char *text, const uint8_t *bytes, int count) {
    static const char digits[] = "0123456789abcdef";
    for (int index = 0; index < count; index++) {
        *text++ = digits[bytes[index] >> 4];
        *text++ = digits[bytes[index] & 15];
    }
    *text = 0;
}

void sign(char hex[65], const char *text, size_t count) {
    uint8_t signature[32];
    size_t size;
    if (!EVP_MAC_init(signer, NULL, 0, NULL) || !EVP_MAC_update(signer, (const uint8_t *)text, count) ||
        !EVP_MAC_final(signer, signature, &size, sizeof signature))
        fail("cannot sign");
    put_hex(hex, signature, sizeof signature);
}

void digest(char hex[33], const char *text, size_t count) {
    uint8_t bytes[16];
    if (!EVP_DigestInit_ex2(digester, md5, NULL) || !EVP_DigestUpdate(digester, text, count) ||
        !EVP_DigestFinal_ex(digester, bytes, NULL))
        fail("cannot compute a digest");
    put_hex(hex, bytes, sizeof bytes);
}

void prepare_wire(void) {
    if ((queue = epoll_create1(EPOLL_CLOEXEC)) < 0) fail("epoll_create1: %s", strerror(errno));
    prepare_signatures();
    if (options.tls) prepare_tls();
}
