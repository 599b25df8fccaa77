#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

/* OPENSSL_free is a macro, which Swift does not import: it adds the source file and line of the call. */
static inline void copenssl_free(void *memory) { OPENSSL_free(memory); }

/* Sets the key of an HMAC-SHA256 context. In C, because an OSSL_PARAM array contains C strings that must outlive it,
   which is awkward in Swift; HMAC is the only use. */
static inline int copenssl_hmac_sha256_key(EVP_MAC_CTX *context, const unsigned char *key, size_t length) {
    char digest[] = "SHA256";
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_init(context, key, length, parameters);
}
