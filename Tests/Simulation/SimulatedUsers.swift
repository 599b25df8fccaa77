import FanOut
import JSON
import PusherProtocol
import TestSupport

/// The users of a run, and the data that their backends sign. All signatures are valid: checking them is not part of
/// the simulation.
struct SimulatedUsers {
    /// The users' ids: only few, so that connections often have the same user. Ids that look like numbers may be sent
    /// as JSON numbers (protocol point R6).
    let users: [String]

    private static let standardIDs = [
        "1", "10", "-7", "1.0", "12345678901234567890", "0010", "anna", "ünï", #"a"b\"#, "#server-to-user-1", "a,b:c",
    ]
    private static let numbers: Set = ["1", "10", "-7", "1.0", "12345678901234567890"]

    /// - Parameter others: ids of users besides the standard ones.
    init(with others: [String], using dice: inout SplitMix) {
        let count = dice.within(1...6)
        let first = dice.below(Self.standardIDs.count)
        users = others + (0..<count).map { Self.standardIDs[(first + $0) % Self.standardIDs.count] }
    }

    /// A grant for a subscription; nil if the request is rejected. On presence channels, the member is one of the
    /// users.
    func grant(
        _ channel: ChannelName, to socket: SocketID, signedInAs user: SignedInUser?, using dice: inout SplitMix
    ) -> SubscriptionGrant? {
        var data: String?
        if channel.isPresence, user == nil || dice.chance(percent: 50) { data = channelData(using: &dice) }
        let request = SubscriptionRequest(channel: channel.text, auth: "key:signature", channelData: data)
        return try? request.grant(to: socket, key: "key", limits: Limits(), user: user) { _, _ in true }
    }

    /// A user for a sign-in.
    /// - Parameter id: the user's id; nil picks any.
    func user(_ id: String? = nil, on socket: SocketID, using dice: inout SplitMix) -> SignedInUser? {
        guard let id = id ?? dice.pick(users) else { return nil }
        var json = JSONWriter()
        json.raw(#"{"id":"#)
        json.string(id)
        writeInfo(to: &json, using: &dice)
        writeWatchlist(to: &json, using: &dice)
        if id.contains(":") { writeBookings(to: &json, using: &dice) }
        json.raw("}")
        let request = SigninRequest(auth: "key:signature", userData: String(decoding: json.bytes, as: UTF8.self))
        return try? request.user(on: socket, key: "key", limits: Limits()) { _, _ in true }
    }

    private func channelData(using dice: inout SplitMix) -> String? {
        guard let id = dice.pick(users) else { return nil }
        var json = JSONWriter()
        json.raw(#"{"user_id":"#)
        if Self.numbers.contains(id), dice.chance(percent: 50) { json.raw(id.utf8) } else { json.string(id) }
        writeInfo(to: &json, using: &dice)
        json.raw("}")
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Each connection of a user may carry different info.
    private func writeInfo(to json: inout JSONWriter, using dice: inout SplitMix) {
        guard dice.chance(percent: 60) else { return }
        json.raw(#","user_info":{"n":"#)
        json.integer(dice.below(1_000))
        json.raw(#","text":"\"\u00e9\\" }"#)
    }

    /// Writes bookings; only those of a customer have an effect.
    private func writeBookings(to json: inout JSONWriter, using dice: inout SplitMix) {
        json.raw(#","bookings":["#)
        for (index, reference) in SimulatedFleet.references.filter({ _ in dice.chance(percent: 40) }).enumerated() {
            if index > 0 { json.raw(",") }
            json.string(reference)
        }
        json.raw("]")
    }

    /// Writes a watchlist, which may be empty, contain the user or duplicates, or be too long.
    private func writeWatchlist(to json: inout JSONWriter, using dice: inout SplitMix) {
        var ids = (0..<dice.below(5)).compactMap { _ in dice.pick(users) }
        if dice.chance(percent: 3) { ids += (0..<Limits.watchlistLength).map { "stranger \($0)" } }
        json.raw(#","watchlist":["#)
        for (index, id) in ids.enumerated() {
            if index > 0 { json.raw(",") }
            json.string(id)
        }
        json.raw("]")
    }
}
