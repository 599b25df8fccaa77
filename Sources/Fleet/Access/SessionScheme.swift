/// How a dashboard's encrypted session cookie is made: which key, and which ciphers.
package enum SessionScheme: String, CaseIterable, Sendable {
    /// NextAuth.js 4: one key for all cookies; A256GCM.
    case v4
    /// Auth.js 5: a key for each cookie's name; A256CBC-HS512, or A256GCM.
    case v5
}
