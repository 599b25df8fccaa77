#include <libwebsockets.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <time.h>

/* Adopts an accepted socket in the raw role, in which libwebsockets hands over the bytes that it receives and does not
   interpret them. `opaque` is there in every callback, from the first one on. In C, because Swift does not import the
   union lws_sock_file_fd_type. */
static inline struct lws *clws_adopt(struct lws_vhost *vhost, int descriptor, int uses_tls, size_t opaque) {
    lws_adopt_desc_t info = {0};
    info.vh = vhost;
    info.type = LWS_ADOPT_SOCKET | (uses_tls ? LWS_ADOPT_ALLOW_SSL : 0);
    info.fd.sockfd = descriptor;
    info.opaque = (void *)opaque;
    struct lws *wsi = lws_adopt_descriptor_vhost_via_info(&info);
    if (wsi) lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
    return wsi;
}

/* The value given to clws_adopt. */
static inline size_t clws_opaque(const struct lws *wsi) { return (size_t)lws_get_opaque_user_data(wsi); }

/* Sends bytes through TLS. Returns the number of bytes taken; 0 if the socket is full; -1 if the connection is broken.
   After 0, the next call must begin with the same bytes. */
static inline long clws_send_tls(struct lws *wsi, const void *bytes, size_t count) {
    SSL *ssl = lws_get_ssl(wsi);
    if (!ssl) return -1;
    size_t sent = 0;
    ERR_clear_error(); /* SSL_get_error looks at the thread's error queue. */
    if (SSL_write_ex(ssl, bytes, count, &sent)) return (long)sent;
    int error = SSL_get_error(ssl, 0);
    return error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ ? 0 : -1;
}

/* Stops the library's own timer of a connection, see Transport.swift. */
static inline void clws_cancel_timeout(struct lws *wsi) { lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0); }

static inline void clws_kill_now(struct lws *wsi) { lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC); }

/* Sends TLS's close_notify, if the connection uses TLS. The result is ignored: the peer may be gone. */
static inline void clws_end_tls(struct lws *wsi) {
    SSL *ssl = lws_get_ssl(wsi);
    if (ssl) SSL_shutdown(ssl);
}

/* Swift does not import the options: they are macros that cast and shift. */
static const uint64_t clws_libev_option = LWS_SERVER_OPTION_LIBEV;
static const uint64_t clws_tls_option = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
static const long clws_no_old_tls = SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1;

/* Disables libwebsockets' validity timers: it keeps them in a linear list. A policy of zeros has no timers. The policy
   is a C constant, because libwebsockets keeps the pointer to it; Swift would pass a pointer to a temporary copy. */
static inline void clws_set_no_validity_timers(struct lws_context_creation_info *info) {
    static const lws_retry_bo_t none = {0};
    info->retry_and_idle_policy = &none;
}

/* MARK: TLS. In C, because most of these OpenSSL functions are macros, which Swift does not import. */

/* Does not ask for the passphrase of an encrypted key on the terminal. */
static inline int clws_no_passphrase(char *buffer, int size, int is_writing, void *data) {
    (void)buffer, (void)size, (void)is_writing, (void)data;
    return -1;
}

/* Loads a PEM certificate chain and its private key into a new SSL_CTX, which serves only as their container. Returns
   NULL if they cannot be used; `problem` then says why. */
static inline SSL_CTX *clws_load_certificate(const char *chain, const char *key, const char **problem) {
    ERR_clear_error();
    SSL_CTX *pair = SSL_CTX_new(TLS_server_method());
    if (!pair) {
        *problem = "out of memory";
        return NULL;
    }
    SSL_CTX_set_default_passwd_cb(pair, clws_no_passphrase);
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
static inline long clws_certificate_end(const SSL_CTX *pair) {
    struct tm end;
    return ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(pair)), &end) == 1 ? (long)timegm(&end) : 0;
}

/* Whether a loaded certificate is valid for a host name (RFC 6125). */
static inline int clws_certificate_matches(const SSL_CTX *pair, const char *name) {
    return X509_check_host(SSL_CTX_get0_certificate(pair), name, 0, 0, NULL) == 1;
}

/* The host name that a client asks for (SNI, RFC 6066 section 3); NULL if it does not name one. */
static inline const char *clws_requested_name(const SSL *ssl) { return SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name); }

/* Gives a connection a loaded certificate. Returns 1 on success. */
static inline int clws_use_certificate(SSL *ssl, const SSL_CTX *pair) {
    STACK_OF(X509) *chain = NULL;
    SSL_CTX_get0_chain_certs(pair, &chain);
    return SSL_use_cert_and_key(ssl, SSL_CTX_get0_certificate(pair), SSL_CTX_get0_privatekey(pair), chain, 1);
}

/* Accepts a client that offers http/1.1, and refuses one that offers only other protocols (RFC 7301 section 3.2). */
static inline int clws_select_protocol(
    SSL *ssl, const unsigned char **selected, unsigned char *length, const unsigned char *offered, unsigned int offered_length,
    void *data
) {
    static const unsigned char spoken[] = "\x08http/1.1";
    (void)ssl, (void)data;
    int result = SSL_select_next_proto((unsigned char **)selected, length, spoken, sizeof spoken - 1, offered, offered_length);
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

#define CLWS_TICKET_KEY_BYTES 80

/* Prepares the context of a loop's TLS connections.
   - `choose` is called for each handshake, to give the connection its certificate; the library's own choice by the
     requested name is switched off.
   - `ticket_keys` encrypts sessions, which clients keep and resume: the same for all loops, because a client that comes
     back is served by any of them. Sessions are not also kept here.
   - SSL_write takes what the socket takes, and may be repeated from another address. */
static inline void clws_prepare_tls(
    SSL_CTX *context, int (*choose)(SSL *, void *), void *data, const unsigned char ticket_keys[CLWS_TICKET_KEY_BYTES]
) {
    SSL_CTX_set_cert_cb(context, choose, data);
    SSL_CTX_set_tlsext_servername_callback(context, NULL);
    SSL_CTX_set_alpn_select_cb(context, clws_select_protocol, NULL);
    SSL_CTX_set_tlsext_ticket_keys(context, (void *)ticket_keys, CLWS_TICKET_KEY_BYTES);
    SSL_CTX_set_num_tickets(context, 1);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_session_id_context(context, (const unsigned char *)"fleetwire", 9);
    SSL_CTX_set_mode(
        context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}
