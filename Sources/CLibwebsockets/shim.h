#include <libwebsockets.h>
#include <openssl/ssl.h>

/* Writes bytes to the socket without framing. In C, because LWS_WRITE_RAW is a macro that names an enum constant, which
   Swift does not import. */
static inline int clws_write_raw(struct lws *wsi, const void *bytes, size_t count) {
    /* WebSocket writes need LWS_PRE writable bytes before the data. LWS_WRITE_RAW does not and leaves the data
       unchanged, although lws_write takes a pointer to non-const bytes. */
    return lws_write(wsi, (unsigned char *)bytes, count, LWS_WRITE_RAW);
}

/* A pointer-sized value per connection. Unlike per_session_data, it survives the end of an HTTP transaction. */
static inline size_t clws_word(const struct lws *wsi) { return (size_t)lws_get_opaque_user_data(wsi); }
static inline void clws_set_word(struct lws *wsi, size_t word) { lws_set_opaque_user_data(wsi, (void *)word); }

static inline void clws_close_reason(struct lws *wsi, int code, const char *reason, size_t count) {
    lws_close_reason(wsi, (enum lws_close_status)code, (unsigned char *)reason, count);
}

static inline void clws_kill_now(struct lws *wsi) { lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC); }

/* Swift does not import the options: they are macros that cast and shift. */
static const uint64_t clws_server_options = LWS_SERVER_OPTION_LIBEV | LWS_SERVER_OPTION_VALIDATE_UTF8;
static const uint64_t clws_tls_option = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
static const long clws_no_old_tls = SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1;

/* Disables libwebsockets' validity timers, which would ping idle connections: it keeps them in a linear list. A policy
   of zeros has no timers. The policy is a C constant, because libwebsockets keeps the pointer to it; Swift would pass a
   pointer to a temporary copy. */
static inline void clws_set_no_validity_timers(struct lws_context_creation_info *info) {
    static const lws_retry_bo_t none = {0};
    info->retry_and_idle_policy = &none;
}
