#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

/* OPENSSL_free is a macro: it adds where it stands. */
static inline void copenssl_free(void *memory) { OPENSSL_free(memory); }

/* OSSL_PARAM arrays are built by functions returning structs with C string keys; one call is all HMAC needs. */
static inline int copenssl_hmac_sha256_key(EVP_MAC_CTX *context, const unsigned char *key, size_t length) {
    char digest[] = "SHA256";
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_init(context, key, length, parameters);
}
