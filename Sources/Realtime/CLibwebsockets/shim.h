#include <libwebsockets.h>

/* Adopts an accepted socket in the raw file role, in which libwebsockets tells when it is readable or writable, and does
   nothing else with it. `opaque` is there in every callback, from the first one on. In C, because Swift does not import
   the union lws_sock_file_fd_type. */
static inline struct lws *clws_adopt(struct lws_vhost *vhost, int descriptor, size_t opaque) {
    lws_adopt_desc_t info = {0};
    info.vh = vhost;
    info.type = LWS_ADOPT_RAW_FILE_DESC;
    info.fd.filefd = descriptor;
    info.vh_prot_name = "fleetwire";
    info.opaque = (void *)opaque;
    struct lws *wsi = lws_adopt_descriptor_vhost_via_info(&info);
    if (wsi) lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
    return wsi;
}

/* The value given to clws_adopt. */
static inline size_t clws_opaque(const struct lws *wsi) { return (size_t)lws_get_opaque_user_data(wsi); }

static inline void clws_kill_now(struct lws *wsi) { lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC); }

/* Swift does not import the option: it is a macro that casts and shifts. */
static const uint64_t clws_libev_option = LWS_SERVER_OPTION_LIBEV;

/* Disables libwebsockets' validity timers: it keeps them in a linear list. A policy of zeros has no timers. The policy
   is a C constant, because libwebsockets keeps the pointer to it; Swift would pass a pointer to a temporary copy. */
static inline void clws_set_no_validity_timers(struct lws_context_creation_info *info) {
    static const lws_retry_bo_t none = {0};
    info->retry_and_idle_policy = &none;
}
