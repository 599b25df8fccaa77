#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* In C, because most of these OpenSSL functions are macros, which Swift does not import. */

/* Does not ask for the passphrase of an encrypted key on the terminal. */
static inline int ctls_no_passphrase(char *buffer, int size, int is_writing, void *data) {
    (void)buffer, (void)size, (void)is_writing, (void)data;
    return -1;
}

/* Loads a PEM certificate chain and its private key into a new SSL_CTX, which serves only as their container. Returns
   NULL if they cannot be used; `problem` then says why. */
static inline SSL_CTX *ctls_load_certificate(const char *chain, const char *key, const char **problem) {
    ERR_clear_error();
    SSL_CTX *pair = SSL_CTX_new(TLS_server_method());
    if (!pair) {
        *problem = "out of memory";
        return NULL;
    }
    SSL_CTX_set_default_passwd_cb(pair, ctls_no_passphrase);
    if (SSL_CTX_use_certificate_chain_file(pair, chain) != 1) {
        *problem = "expected a PEM certificate chain";
    } else if (SSL_CTX_use_PrivateKey_file(pair, key, SSL_FILETYPE_PEM) == 1) {
        return pair;
    } else if (ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH) {
        *problem = "the private key does not belong to the certificate";
    } else {
        *problem = "expected a PEM private key without a passphrase";
    }
    SSL_CTX_free(pair);
    ERR_clear_error();
    return NULL;
}

/* When a loaded certificate expires, in seconds since 1970. */
static inline long ctls_certificate_end(const SSL_CTX *pair) {
    struct tm end;
    return ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(pair)), &end) == 1 ? (long)timegm(&end) : 0;
}

/* Whether a loaded certificate is valid for a host name (RFC 6125). */
static inline int ctls_certificate_matches(const SSL_CTX *pair, const char *name) {
    return X509_check_host(SSL_CTX_get0_certificate(pair), name, 0, 0, NULL) == 1;
}

/* The host name that a client asks for (SNI, RFC 6066 section 3); NULL if it does not name one. */
static inline const char *ctls_requested_name(const SSL *ssl) { return SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name); }

/* Gives a connection a loaded certificate. Returns 1 on success. */
static inline int ctls_use_certificate(SSL *ssl, const SSL_CTX *pair) {
    STACK_OF(X509) *chain = NULL;
    SSL_CTX_get0_chain_certs(pair, &chain);
    return SSL_use_cert_and_key(ssl, SSL_CTX_get0_certificate(pair), SSL_CTX_get0_privatekey(pair), chain, 1);
}

/* Accepts a client that offers http/1.1, and refuses one that offers only other protocols (RFC 7301 section 3.2). */
static inline int ctls_select_protocol(
    SSL *ssl, const unsigned char **selected, unsigned char *length, const unsigned char *offered, unsigned int offered_length,
    void *data
) {
    static const unsigned char spoken[] = "\x08http/1.1";
    (void)ssl, (void)data;
    int result = SSL_select_next_proto((unsigned char **)selected, length, spoken, sizeof spoken - 1, offered, offered_length);
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* How many key updates and renegotiations, which are refused, a client may ask for, its first handshake included. */
#define CTLS_HANDSHAKES_MAX 100

/* Ends a connection whose client keeps asking for key updates (RFC 8446 section 4.6.3) or renegotiations (RFC 5246 section
   7.4.1.1). SSL_read does not return as long as such records arrive, so one client could hold its thread forever. */
static inline void ctls_limit_handshakes(
    int is_sent, int version, int type, const void *message, size_t length, SSL *ssl, void *data
) {
    (void)version, (void)data;
    if (is_sent || type != SSL3_RT_HANDSHAKE || length == 0) return;
    unsigned char kind = *(const unsigned char *)message;
    if (kind != SSL3_MT_CLIENT_HELLO && kind != SSL3_MT_KEY_UPDATE) return;
    intptr_t count = (intptr_t)SSL_get_app_data(ssl) + 1;
    SSL_set_app_data(ssl, (void *)count);
    if (count > CTLS_HANDSHAKES_MAX) SSL_set_shutdown(ssl, SSL_RECEIVED_SHUTDOWN);
}

/* A key of tickets (RFC 5077 section 4): its name, an AES-256 key, an HMAC-SHA-256 key. */
#define CTLS_TICKET_NAME_BYTES 16
#define CTLS_TICKET_KEY_BYTES 80

/* Prepares OpenSSL's contexts for a ticket that `key` seals or opens; sets its name and initialisation vector if it is
   sealed. Returns 1, or -1 on failure. */
static inline int ctls_use_ticket_key(
    unsigned char *key, unsigned char *name, unsigned char *vector, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int is_sealed
) {
    if (is_sealed) {
        if (RAND_bytes(vector, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) return -1;
        memcpy(name, key, CTLS_TICKET_NAME_BYTES);
    }
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key + 48, 32),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    int is_ready = EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, key + 16, vector, is_sealed) == 1
        && EVP_MAC_CTX_set_params(mac, parameters) == 1;
    return is_ready ? 1 : -1;
}

/* Creates the context of all TLS connections; NULL without memory.
   - TLS 1.2 only with forward secrecy and authenticated encryption: who records traffic and gets the certificate's key
     later reads nothing. The server's order counts, but a client without AES in hardware, which lists ChaCha20 first, gets
     it (RFC 9325 section 4.2). The ciphers of TLS 1.3 are all such.
   - Tickets, which clients keep and resume, are sealed by `SSL_CTX_set_tlsext_ticket_key_evp_cb`: the same keys for all
     loops, because a client that comes back is served by any of them. Sessions are not also kept here.
   - SSL_write takes one TLS record at a time, at most 16 KiB. */
static inline SSL_CTX *ctls_new_context(void) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context) return NULL;
    if (SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_alpn_select_cb(context, ctls_select_protocol, NULL);
    SSL_CTX_set_msg_callback(context, ctls_limit_handshakes);
    SSL_CTX_set_num_tickets(context, 1);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_session_id_context(context, (const unsigned char *)"fleetwire", 9);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS);
    return context;
}

/* OpenSSL's access to a non-blocking socket (a BIO). It takes all that OpenSSL writes, and keeps what the socket does not
   take: OpenSSL 3.0 fails with "bad length" if a client asks for a key update while a record is half written. */
struct ctls_socket {
    int descriptor;
    int has_failed;
    /* The bytes from `start` to `end` are unsent. NULL: none are. */
    unsigned char *unsent;
    size_t start, end;
};

/* Returns the number of bytes that the socket took; notes that it is broken. */
static inline size_t ctls_send(struct ctls_socket *to, const void *bytes, size_t count) {
    ssize_t sent = send(to->descriptor, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return (size_t)sent;
    if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) to->has_failed = 1;
    return 0;
}

static inline int ctls_write(BIO *bio, const char *bytes, int count) {
    struct ctls_socket *to = BIO_get_data(bio);
    size_t length = (size_t)count, sent = to->unsent ? 0 : ctls_send(to, bytes, length);
    if (sent == length || to->has_failed) return count;
    unsigned char *unsent = realloc(to->unsent, to->end + length - sent);
    if (!unsent) {
        to->has_failed = 1;
        return count;
    }
    memcpy(unsent + to->end, bytes + sent, length - sent);
    to->unsent = unsent;
    to->end += length - sent;
    return count;
}

static inline int ctls_read(BIO *bio, char *bytes, int count) {
    struct ctls_socket *from = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    int received = (int)recv(from->descriptor, bytes, (size_t)count, 0);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    return received;
}

static inline long ctls_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static inline int ctls_destroy(BIO *bio) {
    struct ctls_socket *socket = BIO_get_data(bio);
    if (socket) free(socket->unsent);
    free(socket);
    return 1;
}

/* Creates the methods of all such BIOs; NULL without memory. */
static inline BIO_METHOD *ctls_new_socket_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (!method) return NULL;
    BIO_meth_set_write(method, ctls_write);
    BIO_meth_set_read(method, ctls_read);
    BIO_meth_set_ctrl(method, ctls_control);
    BIO_meth_set_destroy(method, ctls_destroy);
    return method;
}

/* Creates the server's side of TLS on a socket, which stays open when it is freed; NULL without memory. */
static inline SSL *ctls_new_connection(SSL_CTX *context, const BIO_METHOD *method, int descriptor) {
    SSL *ssl = SSL_new(context);
    BIO *bio = BIO_new(method);
    struct ctls_socket *socket = calloc(1, sizeof *socket);
    if (!ssl || !bio || !socket) {
        SSL_free(ssl);
        BIO_free(bio);
        free(socket);
        return NULL;
    }
    socket->descriptor = descriptor;
    BIO_set_data(bio, socket);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_accept_state(ssl);
    return ssl;
}

/* Sends what the socket did not take before. Returns 1 if all is sent, 0 if the socket is full, -1 if it is broken. */
static inline int ctls_flush(const SSL *ssl) {
    struct ctls_socket *to = BIO_get_data(SSL_get_rbio(ssl));
    if (to->unsent) {
        to->start += ctls_send(to, to->unsent + to->start, to->end - to->start);
        if (to->start == to->end) {
            free(to->unsent);
            to->unsent = NULL;
            to->start = to->end = 0;
        }
    }
    return to->has_failed ? -1 : !to->unsent;
}

/* Creates the context of connections to a server; NULL without memory. With `verifies`, trusts the system's authorities,
   or those of the file that the environment variable SSL_CERT_FILE names. */
static inline SSL_CTX *ctls_new_client_context(int verifies) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context) return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_mode(
        context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    if (verifies && SSL_CTX_set_default_verify_paths(context) == 1) SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    else if (verifies) return SSL_CTX_free(context), NULL;
    return context;
}

/* Creates the client's side of TLS on a socket, which stays open when it is freed; NULL without memory. The certificate
   must be that of `host`, a name or an address. */
static inline SSL *ctls_new_client(SSL_CTX *context, int descriptor, const char *host) {
    SSL *ssl = SSL_new(context);
    if (!ssl) return NULL;
    int is_address = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    int is_named = is_address || (SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1);
    if (!is_named || SSL_set_fd(ssl, descriptor) != 1) {
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_connect_state(ssl);
    return ssl;
}

/* Why the last call failed. */
static inline const char *ctls_problem(const SSL *ssl) {
    long result = SSL_get_verify_result(ssl);
    if (result != X509_V_OK) return X509_verify_cert_error_string(result);
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    return reason ? reason : "the connection was closed";
}
