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
    ///   - user: whom the connection is signed in as.
    ///   - verify: whether a hexadecimal signature is right for a text, compared in constant time.
    /// - Throws: ``ProtocolError`` to be told to the client; the connection stays (S11).
    package func grant(
        to socket: SocketID, key: String, limits: Limits, user: SignedInUser? = nil,
        verify: (_ text: String, _ signature: Substring) -> Bool
    ) throws(ProtocolError) -> SubscriptionGrant {
        guard let name = ChannelName(channel, lengthMax: limits.nameLength) else {
            throw ProtocolError(
                "Invalid channel name \(channel.clipped): expected 1 to \(limits.nameLength) of A-Z a-z 0-9 _ - = @ , . ;")
        }
        let auth = SignedAuth(auth, purpose: "Subscribing to \(channel)")
        switch name.access {
        case .open: break
        case .signed, .encrypted: try auth.check(SigningText.subscription(socket, name), key: key, verify)
        case .presence:
            try auth.check(SigningText.subscription(socket, name, channelData: channelData), key: key, verify)
            return SubscriptionGrant(channel: name, member: try member(user, limits))
        case .user(let id):
            guard let user, user.id.utf8.elementsEqual(id.utf8) else {
                throw ProtocolError("Only the signed-in user may subscribe to \(channel)", code: 4009)
            }
        }
        return SubscriptionGrant(channel: name, member: nil)
    }

    /// U7: who is signed in need not say who he is, and may say something else.
    private func member(_ user: SignedInUser?, _ limits: Limits) throws(ProtocolError) -> PresenceMember {
        if let channelData { return try PresenceMember(channelData: channelData, limits: limits) }
        guard let user else {
            throw ProtocolError("Subscribing to \(channel) needs channel_data, or a signed-in user", code: 4009)
        }
        return user.member
    }
}

/// The right to one subscription. Only ``SubscriptionRequest/grant(to:key:limits:user:verify:)`` makes one, so the hub
/// cannot forget to check a signature: it never sees one.
package struct SubscriptionGrant: Equatable, Sendable {
    package let channel: ChannelName
    /// Who it is for; on presence channels only.
    package let member: PresenceMember?

    fileprivate init(channel: ChannelName, member: PresenceMember?) {
        self.channel = channel
        self.member = member
    }
}
