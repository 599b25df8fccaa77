#include <curl/curl.h>

/* curl_easy_setopt and curl_easy_getinfo are variadic: one typed call per kind of argument. */
static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_number(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_headers(CURL *easy, struct curl_slist *headers) {
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}
static inline CURLcode ccurl_set_writer(CURL *easy, curl_write_callback callback, void *data) {
    CURLcode result = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
    return result == CURLE_OK ? curl_easy_setopt(easy, CURLOPT_WRITEDATA, data) : result;
}
static inline CURLcode ccurl_status(CURL *easy, long *status) {
    return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, status);
}
