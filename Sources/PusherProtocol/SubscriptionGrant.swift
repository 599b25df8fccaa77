/// A client's wish to subscribe, as it came.
package struct SubscriptionRequest: Equatable, Sendable {
    package let channel: String
    /// `KEY:SIGNATURE` (S10); needed by private and presence channels.
    package let auth: String?
    /// Who the subscriber is, signed with the channel (R7).
    package let channelData: String?

    package init(channel: String, auth: String? = nil, channelData: String? = nil) {
        self.channel = channel
        self.auth = auth
        self.channelData = channelData
    }

    /// Decides whether `socket` may subscribe.
    /// - Parameters:
    ///   - key: the application's key, which the auth has to name.
    ///   - verify: whether a hexadecimal signature is right for a text, compared in constant time.
    /// - Throws: ``ProtocolError`` to be told to the client; the connection stays (S11).
    package func grant(
        to socket: SocketID, key: String, limits: Limits, verify: (_ text: String, _ signature: Substring) -> Bool
    ) throws(ProtocolError) -> SubscriptionGrant {
        guard let name = ChannelName(channel, lengthMax: limits.nameLength) else {
            throw ProtocolError(
                "Invalid channel name \(channel.clipped): expected 1 to \(limits.nameLength) of A-Z a-z 0-9 _ - = @ , . ;")
        }
        switch name.access {
        case .open: break
        case .signed: try check(text: SigningText.subscription(socket, name), key: key, verify)
        case .presence: throw ProtocolError("Presence channels are not supported: \(name.text)")
        }
        return SubscriptionGrant(channel: name)
    }

    private func check(
        text: String, key: String, _ verify: (String, Substring) -> Bool
    ) throws(ProtocolError) {
        guard let auth else {
            throw ProtocolError("Subscribing to \(channel) needs auth: ask your authorization endpoint", code: 4009)
        }
        // A signature holds no colon, a key might: the last one separates them.
        guard let colon = auth.lastIndex(of: ":"), auth[..<colon].utf8.elementsEqual(key.utf8) else {
            throw ProtocolError("Invalid auth for \(channel): expected KEY:SIGNATURE with this application's key", code: 4009)
        }
        guard verify(text, auth[auth.index(after: colon)...]) else {
            throw ProtocolError("Invalid signature: expected HMAC SHA256 hex digest of \(text)", code: 4009)
        }
    }
}

/// The right to one subscription. Only ``SubscriptionRequest/grant(to:key:limits:verify:)`` makes one, so the hub
/// cannot forget to check a signature: it never sees one.
package struct SubscriptionGrant: Equatable, Sendable {
    package let channel: ChannelName

    fileprivate init(channel: ChannelName) { self.channel = channel }
}
