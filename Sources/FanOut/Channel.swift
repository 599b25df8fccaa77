import PusherProtocol

/// A channel with at least one subscriber.
struct Channel {
    let name: ChannelName
    let app: AppIndex
    /// The event loops that have at least one of the subscribers.
    private(set) var loops = LoopSet()
    /// The number of subscribers on all event loops.
    private(set) var subscriberCount = 0
    /// The number of subscribers whose connection is anonymous (``Connection/isAnonymous``).
    var anonymousCount = 0
    /// The members; nil unless this is a presence channel.
    var presence: Presence?
    /// Whether a `subscription_count` event is to be sent when the next interval starts; see
    /// ``SubscriptionCountThrottle``.
    var countIsDue = false
    /// The number of subscribers on each event loop, by the loop's index.
    private var subscribersByLoop: [UInt32]

    init(name: ChannelName, app: AppIndex, loopCount: Int) {
        self.name = name
        self.app = app
        presence = name.isPresence ? Presence() : nil
        subscribersByLoop = Array(repeating: 0, count: loopCount)
    }

    /// Adds a subscriber on a loop.
    mutating func add(loop: Int) {
        subscribersByLoop[loop] += 1
        subscriberCount += 1
        loops.insert(loop)
    }

    /// Removes a subscriber on a loop.
    mutating func remove(loop: Int) {
        subscribersByLoop[loop] -= 1
        subscriberCount -= 1
        if subscribersByLoop[loop] == 0 { loops.remove(loop) }
    }
}
