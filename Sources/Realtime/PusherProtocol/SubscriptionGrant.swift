/// A `pusher:subscribe` message.
package struct SubscriptionRequest: Equatable, Sendable {
    /// The channel's name as sent; ``grant(to:key:limits:user:verify:)`` checks it.
    package let channel: String
    /// `KEY:SIGNATURE` (protocol point S10); required for private and presence channels.
    package let auth: String?
    /// What the backend has added: on a presence channel the member as JSON (R7), elsewhere anything.
    package let channelData: String?
    /// The members of the message that are no texts. A channel that does not need them ignores them (S10).
    package let malformed: Set<Member>

    /// A member of the message that only some channels need.
    package enum Member: String, Sendable {
        case auth
        case channelData = "channel_data"
    }

    package init(channel: String, auth: String? = nil, channelData: String? = nil, malformed: Set<Member> = []) {
        self.channel = channel
        self.auth = auth
        self.channelData = channelData
        self.malformed = malformed
    }

    /// Checks the name, and the signature or the signed-in user that the channel requires.
    /// - Parameters:
    ///   - key: the application's key, which `auth` must begin with.
    ///   - user: the connection's signed-in user, if any.
    ///   - verify: returns whether a hexadecimal signature is valid for a text. It must compare in constant time.
    /// - Throws: ``ProtocolError`` for the client; the connection stays open (S11).
    package func grant(
        to socket: SocketID, key: String, limits: Limits, user: SignedInUser? = nil,
        verify: (_ text: String, _ signature: Substring) -> Bool
    ) throws(ProtocolError) -> SubscriptionGrant {
        guard let name = ChannelName(channel, lengthMax: limits.nameLength) else {
            throw ProtocolError(
                "Invalid channel name \(channel.clipped): expected 1 to \(limits.nameLength) characters of A-Z a-z 0-9 _ - = @ , . ;",
                refusal: .invalidName)
        }
        switch name.access {
        case .open: break
        case .signed, .encrypted:
            try require(.auth)
            try checkSignature(on: socket, name, key: key, verify)
        case .presence:
            try require(.auth)
            try require(.channelData)
            let signed = SigningText.subscription(socket, name, channelData: channelData)
            try SignedAuth(auth, subscribingTo: channel).check(signed, key: key, verify)
            return SubscriptionGrant(channel: name, member: try member(user, limits))
        case .user(let id):
            guard let user, user.id.utf8.elementsEqual(id.utf8) else {
                throw ProtocolError(
                    "Subscribing to \(channel) needs a connection signed in as \(id)", code: 4009, refusal: .otherUser)
            }
        }
        return SubscriptionGrant(channel: name, member: nil)
    }

    /// - Throws: if the member of the message is present, and no text.
    private func require(_ member: Member) throws(ProtocolError) {
        guard malformed.contains(member) else { return }
        throw ProtocolError("pusher:subscribe: expected data.\(member.rawValue) to be a string", refusal: .malformed)
    }

    /// Official server SDKs sign the data with any channel if their caller gives some, and clients send it on. A backend that
    /// adds data to the message without signing it is older than that: it stays accepted, because a channel without members
    /// does not use the data.
    private func checkSignature(
        on socket: SocketID, _ name: ChannelName, key: String, _ verify: (_ text: String, _ signature: Substring) -> Bool
    ) throws(ProtocolError) {
        let auth = SignedAuth(auth, subscribingTo: channel)
        let unsigned = SigningText.subscription(socket, name)
        guard let channelData else { return try auth.check(unsigned, key: key, verify) }
        let signed = SigningText.subscription(socket, name, channelData: channelData)
        try auth.check(signed, key: key) { verify($0, $1) || verify(unsigned, $1) }
    }

    /// The member in `channel_data`. If the message has no `channel_data`, the signed-in user (U7).
    private func member(_ user: SignedInUser?, _ limits: Limits) throws(ProtocolError) -> PresenceMember {
        if let channelData { return try PresenceMember(channelData: channelData, limits: limits) }
        guard let user else {
            throw ProtocolError("Subscribing to \(channel) needs channel_data, or a signed-in user", code: 4009, refusal: .member)
        }
        return user.member
    }
}

/// Permission for one subscription. Only ``SubscriptionRequest/grant(to:key:limits:user:verify:)`` creates one, and
/// only if the client has the valid signature or the signed-in user that the channel requires. The hub cannot subscribe
/// a connection without a grant.
package struct SubscriptionGrant: Equatable, Sendable {
    package let channel: ChannelName
    /// The presence member; nil unless this is a presence channel.
    package let member: PresenceMember?
    /// Whether the client may subscribe to the plain name without a sign-in, because it is an app of before that never
    /// signs.
    package private(set) var isLegacy = false

    /// The same permission, for an app that never signs.
    package var asLegacy: SubscriptionGrant {
        var grant = self
        grant.isLegacy = true
        return grant
    }

    fileprivate init(channel: ChannelName, member: PresenceMember?) {
        self.channel = channel
        self.member = member
    }
}
