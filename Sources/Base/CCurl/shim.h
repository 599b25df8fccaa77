#include <curl/curl.h>
#include <linux/sock_diag.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <sys/eventfd.h> /* missing in Swift's Glibc module */

/* Swift cannot call the variadic curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt, so each argument type has a
   typed function here. */
static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_number(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_headers(CURL *easy, struct curl_slist *headers) {
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}
static inline CURLcode ccurl_set_writer(CURL *easy, curl_write_callback callback, void *data) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
    return result == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_WRITEDATA, data) : result;
}
static inline CURLcode ccurl_set_header_reader(CURL *easy, curl_write_callback callback, void *data) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
    return result == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_HEADERDATA, data) : result;
}
static inline CURLcode ccurl_set_opensocket(CURL *easy, curl_opensocket_callback callback, void *data) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
    return result == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, data) : result;
}
static inline CURLcode ccurl_set_closesocket(CURL *easy, curl_closesocket_callback callback, void *data) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
    return result == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, data) : result;
}
static inline CURLcode ccurl_set_prerequest(CURL *easy, curl_prereq_callback callback, void *data) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
    return result == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_PREREQDATA, data) : result;
}
static inline CURLcode ccurl_status(CURL *easy, long *status) {
    return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, status);
}
static inline CURLcode ccurl_uploaded(CURL *easy, curl_off_t *bytes) {
    return curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, bytes);
}
static inline CURLcode ccurl_owner(CURL *easy, void **owner) {
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, owner);
}
static inline CURLMcode ccurl_set_multi_number(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/* Reads the size of a socket's send buffer and its used part, both in bytes as the kernel counts them. Returns false if
   the kernel does not support SO_MEMINFO. */
static inline bool ccurl_send_buffer(int socket, long *size, long *used) {
    unsigned counts[SK_MEMINFO_VARS];
    socklen_t length = sizeof counts;
    if (getsockopt(socket, SOL_SOCKET, SO_MEMINFO, counts, &length) != 0) return false;
    *size = counts[SK_MEMINFO_SNDBUF];
    *used = counts[SK_MEMINFO_WMEM_QUEUED];
    return true;
}
/* The number that the kernel gives to a socket and never reuses; 0 if the descriptor is not a socket. */
static inline unsigned long long ccurl_socket_cookie(int socket) {
    unsigned long long cookie = 0;
    socklen_t length = sizeof cookie;
    return getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}
static inline int ccurl_set_send_buffer(int socket, int bytes) {
    return setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

/* Returns 1 if the connection of a transfer negotiated HTTP/2 by ALPN, otherwise 0. libcurl itself reports the version
   only after the response. */
static inline int ccurl_agreed_on_http2(CURL *easy) {
    struct curl_tlssessioninfo *session = NULL;
    const unsigned char *name = NULL;
    unsigned int length = 0;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK) return 0;
    if (!session || !session->internals) return 0;
    if (session->backend != CURLSSLBACKEND_OPENSSL) return 0;
    SSL_get0_alpn_selected((SSL *)session->internals, &name, &length);
    return length == 2 && name[0] == 'h' && name[1] == '2';
}
