#include <libwebsockets.h>
#include <openssl/ssl.h>

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

/* Writes bytes through TLS. In C, because LWS_WRITE_RAW is a macro that names an enum constant, which Swift does not
   import. The bytes stay unchanged, although lws_write takes a pointer to non-const bytes. */
static inline int clws_write_raw(struct lws *wsi, const void *bytes, size_t count) {
    return lws_write(wsi, (unsigned char *)bytes, count, LWS_WRITE_RAW);
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
