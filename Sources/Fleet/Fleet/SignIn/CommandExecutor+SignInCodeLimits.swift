import Crypto

/// Decides by what was sent whether another code may be, counts codes, and knows the addresses of phones.
///
/// The counts are in the database, so they hold over restarts and for all nodes of a cluster together.
extension CommandExecutor {
    /// A phone that is to get a code, as the limits see it.
    struct SignInCodeRecipient {
        let phone: String
        /// ``SignInCodeSession/isOwn``
        let isOwn: Bool
        /// What its code counts for; nil if the phone has an account.
        let newPhone: NewPhone?

        struct NewPhone {
            /// ``PhoneNumber/prefix(of:)``
            let prefix: String
            /// The digest of the client's address; nil if the client is gone.
            let address: String?

            fileprivate var subjects: [SignInCodeLimitTable.Subject] {
                [.newPhones, .prefix(prefix)] + (address.map { [.address($0)] } ?? [])
            }
        }
    }

    func recipient(_ phone: String, isOwn: Bool, client: String?) throws(DatabaseError) -> SignInCodeRecipient {
        guard try customers.customer(phone: phone) == nil else {
            return SignInCodeRecipient(phone: phone, isOwn: isOwn, newPhone: nil)
        }
        let address = client.map { Base64URL.text(addressDigests.digest(of: Array($0.utf8)).digest) }
        let newPhone = SignInCodeRecipient.NewPhone(prefix: PhoneNumber.prefix(of: phone), address: address)
        return SignInCodeRecipient(phone: phone, isOwn: isOwn, newPhone: newPhone)
    }

    func refusal(of recipient: SignInCodeRecipient, _ time: Int64) throws(DatabaseError) -> SignInCodeRefusal? {
        let new = recipient.newPhone
        let counts = try codeCounters.counts(of: [.all] + (new?.subjects ?? []), now: time)
        var sent = SignInCodeLimits.Sent(
            toPhone: try signIns.sends(toPhone: recipient.phone, isOwn: recipient.isOwn, since: time - SignInCodeLimits.day),
            toAll: counts[.all] ?? 0)
        if let new {
            sent.ofNewPhones = SignInCodeLimits.OfNewPhones(
                all: counts[.newPhones] ?? 0, ofPrefix: counts[.prefix(new.prefix)] ?? 0,
                fromAddress: new.address.flatMap { counts[.address($0)] } ?? 0, prefix: try codeCounters.prefix(new.prefix))
        }
        return codeRules.limits.refusal(sent, now: time)
    }

    /// Counts a code.
    /// - Parameter id: ``SignInCodeTable/Stored/sendID``
    func count(_ id: String, to recipient: SignInCodeRecipient, _ time: Int64) throws(DatabaseError) {
        let new = recipient.newPhone
        try signIns.addSend(
            SignInCodeTable.Send(
                id: id, phone: recipient.phone, isOwn: recipient.isOwn, at: time, prefix: new?.prefix, address: new?.address))
        for subject in [.all] + (new?.subjects ?? []) { try codeCounters.count(subject, at: time) }
        guard let new else { return }
        var prefix = try codeCounters.prefix(new.prefix)
        if prefix.send(at: time) { codeCounts.stoppedPrefixes.append(new.prefix) }
        try codeCounters.store(prefix, of: new.prefix, now: time)
    }

    /// Takes back a code that could not be sent.
    func withdraw(_ id: String, _ time: Int64) throws(DatabaseError) {
        guard let send = try signIns.removeSend(id) else { return }
        let new = send.prefix.map { SignInCodeRecipient.NewPhone(prefix: $0, address: send.address) }
        for subject in [.all] + (new?.subjects ?? []) { try codeCounters.withdraw(subject, at: send.at) }
        guard let new else { return }
        var prefix = try codeCounters.prefix(new.prefix)
        prefix.withdraw()
        try codeCounters.store(prefix, of: new.prefix, now: time)
    }

    /// A code has brought a customer.
    func endUnusedCodes(ofPrefix prefix: String, _ time: Int64) throws(DatabaseError) {
        var state = try codeCounters.prefix(prefix)
        state.signIn()
        try codeCounters.store(state, of: prefix, now: time)
    }

    // MARK: Own addresses

    /// Whether the phone has signed in from this address before.
    func isOwn(_ client: String?, of phone: String, _ time: Int64) throws(DatabaseError) -> Bool {
        guard let client else { return false }
        return try codeCounters.addresses(of: phone).contains {
            SignInCodeLimits.isOwnAddress(signedInAt: $0.signedInAt, now: time) && isAddress($0, client, phone)
        }
    }

    /// Remembers from where a phone has signed in.
    func remember(_ client: String?, of phone: String, _ time: Int64) throws(DatabaseError) {
        guard let client else { return }
        let stored = try codeCounters.addresses(of: phone)
        // The row may have been written under an older key.
        let superseded = stored.first { isAddress($0, client, phone) }
        let (keyID, digest) = addressDigests.digest(of: Self.message(client, phone))
        if let superseded, superseded.digest != digest {
            try codeCounters.remove(superseded, of: phone)
        } else if superseded == nil, stored.count >= SignInCodeLimits.ownAddressesMax,
            let oldest = stored.min(by: { $0.signedInAt < $1.signedInAt })
        {
            try codeCounters.remove(oldest, of: phone)
        }
        try codeCounters.store(.init(digest: digest, keyID: keyID, signedInAt: time), of: phone)
    }

    private func isAddress(_ address: SignInCodeLimitTable.OwnAddress, _ client: String, _ phone: String) -> Bool {
        addressDigests.verifies(Self.message(client, phone), address.digest, keyID: address.keyID)
    }

    /// What the digest of an own address covers: the same address has another digest for another phone.
    private static func message(_ client: String, _ phone: String) -> [UInt8] { Array("\(phone)\n\(client)".utf8) }
}
