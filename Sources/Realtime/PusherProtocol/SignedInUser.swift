import JSON
import Primitives

/// A `pusher:signin` message (protocol point U1).
package struct SigninRequest: Equatable, Sendable {
    /// `KEY:SIGNATURE`. The signature covers the socket id and `userData`.
    package let auth: String
    /// The user as JSON: `id`, and optionally `user_info` and `watchlist`.
    package let userData: String

    package init(auth: String, userData: String) {
        self.auth = auth
        self.userData = userData
    }

    /// Verifies the signature and decodes the user.
    /// - Throws: ``ProtocolError`` for the client; the connection stays open.
    package func user(
        on socket: SocketID, key: String, limits: Limits, verify: (_ text: String, _ signature: Substring) -> Bool
    ) throws(ProtocolError) -> SignedInUser {
        try SignedAuth(auth).check(SigningText.signin(socket, userData: userData), key: key, verify)
        return try SignedInUser(userData: userData, limits: limits)
    }
}

/// A user who has signed in. Only ``SigninRequest`` creates one, after it has verified the signature.
package final class SignedInUser: Equatable, Sendable {
    package let id: String
    /// The user as a member of a presence channel, for subscriptions without `channel_data` (U7).
    package let member: PresenceMember
    /// The ids of watched users (W1): the first ``Limits/watchlistLength`` of the request, less the duplicates.
    package let watchlist: [String]
    /// Whether the request's watchlist has more than ``Limits/watchlistLength`` ids (W3).
    package let isWatchlistTruncated: Bool
    /// The signed JSON, an object. The response to the sign-in contains it unchanged (U1).
    package let userData: String

    fileprivate init(userData: String, limits: Limits) throws(ProtocolError) {
        let fields = try userData.withBytes { bytes in
            Result { () throws(ProtocolError) in try Fields(bytes, limits) }
        }.get()
        guard let id = fields.id, !id.isEmpty else {
            throw ProtocolError("Invalid user_data: expected id to be a string that is not empty", code: 4009)
        }
        guard id.unicodeScalars.count <= Limits.userIDLength else {
            throw ProtocolError("The user's id exceeds the allowed maximum (\(Limits.userIDLength) characters)", code: 4009)
        }
        guard !fields.isInfoTooLarge else {
            throw ProtocolError("user_info exceeds the allowed maximum (\(limits.presenceInfoBytes) bytes)", code: 4009)
        }
        self.id = id
        self.userData = userData
        member = PresenceMember(id: id, info: fields.info)
        isWatchlistTruncated = fields.isWatchlistTruncated
        var seen = Set<Identifier>()
        watchlist = fields.watchlist.filter { seen.insert(Identifier($0)).inserted }
    }

    package static func == (one: SignedInUser, other: SignedInUser) -> Bool { one.userData == other.userData }

    /// The fields of `user_data`.
    private struct Fields {
        /// Cut if it is too long: see ``JSONSlice/string(cutAbove:)``.
        let id: String?
        /// Nil also if it is too large.
        let info: [UInt8]?
        let isInfoTooLarge: Bool
        /// The first ``Limits/watchlistLength`` ids.
        let watchlist: [String]
        let isWatchlistTruncated: Bool

        init(_ userData: UnsafeRawBufferPointer, _ limits: Limits) throws(ProtocolError) {
            var (id, info): (JSONSlice?, JSONSlice?) = (nil, nil)
            var watchlist: (ids: [String], count: Int) = ([], 0)
            do {
                try JSONReader.object(userData) { key, value in
                    if key.equals("id") {
                        id = value
                    } else if key.equals("user_info") {
                        info = value
                    } else if key.equals("watchlist"), value.kind != .null {
                        watchlist = try Self.ids(in: value.raw)
                    }
                }
            } catch {
                throw ProtocolError(
                    "Invalid user_data: expected a JSON object; its watchlist, if any, must be an array of strings", code: 4009)
            }
            self.id = id?.string(cutAbove: Limits.nameBytesMax)
            isInfoTooLarge = info.map { !$0.isWithin(limits.presenceInfoBytes) } ?? false
            self.info = isInfoTooLarge ? nil : info.map { Array($0.raw) }
            (self.watchlist, isWatchlistTruncated) = (watchlist.ids, watchlist.count > Limits.watchlistLength)
        }

        private static func ids(in watchlist: UnsafeRawBufferPointer) throws -> (ids: [String], count: Int) {
            var (ids, count): ([String], Int) = ([], 0)
            try JSONReader.array(watchlist) { element in
                guard element.kind == .string else { throw ProtocolError("Expected strings") }
                count += 1
                if count <= Limits.watchlistLength, let id = element.string { ids.append(id) }
            }
            return (ids, count)
        }
    }
}
