#include <libwebsockets.h>
#include <openssl/ssl.h>

/* LWS_PRE and the write protocols are macros or share values, which the importer drops or cannot tell apart. */
static inline int clws_write_raw(struct lws *wsi, const void *bytes, size_t count) {
    /* LWS_WRITE_RAW needs no room before the bytes and does not touch them, whatever the signature says. */
    return lws_write(wsi, (unsigned char *)bytes, count, LWS_WRITE_RAW);
}

/* user-space that survives the end of an HTTP transaction, unlike per_session_data. */
static inline size_t clws_word(const struct lws *wsi) { return (size_t)lws_get_opaque_user_data(wsi); }
static inline void clws_set_word(struct lws *wsi, size_t word) { lws_set_opaque_user_data(wsi, (void *)word); }

static inline void clws_close_reason(struct lws *wsi, int code, const char *reason, size_t count) {
    lws_close_reason(wsi, (enum lws_close_status)code, (unsigned char *)reason, count);
}

static inline void clws_kill_now(struct lws *wsi) { lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC); }

/* Options are casts of shifts. */
static const uint64_t clws_server_options = LWS_SERVER_OPTION_LIBEV | LWS_SERVER_OPTION_VALIDATE_UTF8;

/* The validity timers of the default policy are a linear list; an all-zero one has none. The library keeps the pointer,
   so it has to be that of a constant: Swift would pass one to a copy. */
static inline void clws_set_no_validity_timers(struct lws_context_creation_info *info) {
    static const lws_retry_bo_t none = {0};
    info->retry_and_idle_policy = &none;
}
static const uint64_t clws_tls_option = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
static const long clws_no_old_tls = SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1;
