#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
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

#define CTLS_TICKET_KEY_BYTES 80

/* Creates the context of all TLS connections; NULL without memory.
   - `ticket_keys` encrypts sessions, which clients keep and resume: the same for all loops, because a client that comes
     back is served by any of them. Sessions are not also kept here.
   - SSL_write takes what the socket takes, and may be repeated from another address. */
static inline SSL_CTX *ctls_new_context(const unsigned char ticket_keys[CTLS_TICKET_KEY_BYTES]) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context) return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_alpn_select_cb(context, ctls_select_protocol, NULL);
    SSL_CTX_set_tlsext_ticket_keys(context, (void *)ticket_keys, CTLS_TICKET_KEY_BYTES);
    SSL_CTX_set_num_tickets(context, 1);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_session_id_context(context, (const unsigned char *)"fleetwire", 9);
    SSL_CTX_set_mode(
        context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    return context;
}
