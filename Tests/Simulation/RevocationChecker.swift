/// Tracks, from the messages of one connection, which subscriptions the server ended: the client gets one error, only about a
/// channel that it is subscribed to, and gets nothing of that channel afterwards.
struct RevocationChecker {
    /// Channels with a confirmed subscription.
    private var joined: Set<String> = []
    /// Channels whose subscription the server has ended.
    private var ended: Set<String> = []

    mutating func read(_ text: WireMessage) throws(Discrepancy) {
        if text.bytes.starts(with: Self.ending) {
            let rest = String(decoding: text.bytes.dropFirst(Self.ending.count), as: UTF8.self)
            let channel = rest.prefix { $0 != " " }
            guard rest.dropFirst(channel.count).hasPrefix(" has ended: "), joined.remove(String(channel)) != nil else {
                throw Discrepancy("got a repeated or unknown end: \(text)")
            }
            ended.insert(String(channel))
        } else if text.bytes.starts(with: Self.success) {
            guard let channel = text.channel else { throw Discrepancy("received what it cannot read: \(text)") }
            joined.insert(channel)
            ended.remove(channel)
        } else if !ended.isEmpty, let channel = text.channel, ended.contains(channel) {
            throw Discrepancy("heard of \(channel) after the end of its subscription: \(text)")
        }
    }

    private static let ending = Array(#"{"event":"pusher:error","data":{"message":"Your subscription to "#.utf8)
    private static let success = Array(#"{"event":"pusher_internal:subscription_succeeded""#.utf8)
}
