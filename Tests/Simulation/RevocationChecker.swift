/// Checks, from the messages of one connection, how the server ends subscriptions: the client receives one error about
/// a channel that it is subscribed to, and no events of that channel afterwards.
struct RevocationChecker {
    /// Channels with a confirmed subscription.
    private var joined: Set<String> = []
    /// Channels whose subscription the server has ended.
    private var ended: Set<String> = []

    /// Checks the next message.
    mutating func read(_ message: WireMessage) throws(Discrepancy) {
        if message.bytes.starts(with: Self.ending) {
            let rest = String(decoding: message.bytes.dropFirst(Self.ending.count), as: UTF8.self)
            let channel = rest.prefix { $0 != " " }
            guard rest.dropFirst(channel.count).hasPrefix(" has ended: "), joined.remove(String(channel)) != nil else {
                throw Discrepancy("received the end of a subscription that it does not have: \(message)")
            }
            ended.insert(String(channel))
        } else if message.bytes.starts(with: Self.success) {
            guard let channel = message.channel else { throw Discrepancy("received invalid JSON: \(message)") }
            joined.insert(channel)
            ended.remove(channel)
        } else if !ended.isEmpty, let channel = message.channel, ended.contains(channel) {
            throw Discrepancy("received an event of \(channel) after the end of its subscription: \(message)")
        }
    }

    private static let ending = Array(#"{"event":"pusher:error","data":{"message":"Your subscription to "#.utf8)
    private static let success = Array(#"{"event":"pusher_internal:subscription_succeeded""#.utf8)
}
