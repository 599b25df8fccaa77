import PusherProtocol
import Synchronization

/// The members of a presence channel at one moment, for the new subscribers of that moment.
///
/// The channel keeps its list until a member comes or goes, and all who subscribe meanwhile get the same encoded message.
/// The list shares the channel's members instead of copying them, and a loop encodes them when it writes the message: so
/// nothing that grows with the members is done while the hub is locked.
package final class PresenceList: Equatable, Sendable {
    package let channel: ChannelName
    private let chunks: [[PresenceMember?]]
    private let memory: Memory
    private let kept = AtomicLazyReference<Encoded>()

    /// The memory for encoded lists that are kept. It has a bound, because each of thousands of channels keeps one.
    package final class Memory: Sendable {
        private let bytesMax: Int
        private let used = Atomic(0)

        /// - Parameter bytesMax: a list for which there is no room is encoded for each subscriber.
        package init(bytesMax: Int = 67_108_864) { self.bytesMax = bytesMax }

        /// The bytes of the kept lists.
        package var bytes: Int { used.load(ordering: .relaxed) }

        fileprivate func reserve(_ count: Int) -> Bool {
            if used.add(count, ordering: .relaxed).newValue <= bytesMax { return true }
            release(count)
            return false
        }

        fileprivate func release(_ count: Int) { used.subtract(count, ordering: .relaxed) }
    }

    private final class Encoded: Sendable {
        let frame: Frame

        init(_ frame: Frame) { self.frame = frame }
    }

    init(_ channel: ChannelName, _ chunks: [[PresenceMember?]], _ memory: Memory) {
        self.channel = channel
        self.chunks = chunks
        self.memory = memory
    }

    /// A list of these members.
    package convenience init(_ channel: ChannelName, _ members: [PresenceMember], _ memory: Memory = Memory()) {
        self.init(channel, [members], memory)
    }

    deinit {
        if let encoded = kept.load() { memory.release(encoded.frame.bytes.count) }
    }

    /// In the order of joining.
    package var members: [PresenceMember] { chunks.flatMap { $0.compactMap(\.self) } }

    /// The message `subscription_succeeded` with the list.
    /// - Returns: `isNew`: whether it was encoded now, which takes nanoseconds for each byte.
    package func frame() -> (frame: Frame, isNew: Bool) {
        if let encoded = kept.load() { return (encoded.frame, false) }
        // Two loops may do this at once. The one that is done first keeps its frame.
        let frame = ServerMessage.subscriptionSucceeded(channel, members: members)
        guard memory.reserve(frame.bytes.count) else { return (frame, true) }
        let encoded = Encoded(frame)
        let first = kept.storeIfNil(encoded)
        if first !== encoded { memory.release(frame.bytes.count) }
        return (first.frame, true)
    }

    package static func == (one: PresenceList, other: PresenceList) -> Bool {
        one === other || one.channel == other.channel && one.members == other.members
    }
}
