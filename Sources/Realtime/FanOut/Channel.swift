import PusherProtocol

/// A channel with at least one subscriber.
struct Channel {
    let name: ChannelName
    let app: AppIndex
    /// The event loops that have at least one of the subscribers.
    private(set) var loops = LoopSet()
    /// The members; nil unless this is a presence channel.
    var presence: Presence?
    /// The number of subscribers on each event loop, by the loop's index. Empty while all are on one loop: most
    /// channels have few subscribers, and then need no array.
    private var subscribersByLoop: [UInt32] = []
    private var count: UInt32 = 0
    private var anonymous: UInt32 = 0
    /// The events published to the channel, other than the protocol's own.
    var events = RecentEvents()
    /// Whether a `subscription_count` event is to be sent when the next interval starts; see
    /// ``SubscriptionCountThrottle``.
    var countIsDue = false

    /// What a free slot contains.
    static let vacant = Channel(name: .watchers, app: 0)

    init(name: ChannelName, app: AppIndex) {
        self.name = name
        self.app = app
        presence = name.isPresence ? Presence() : nil
    }

    /// The number of subscribers on all event loops.
    var subscriberCount: Int { Int(count) }

    /// The number of subscribers whose connection is anonymous (``Connection/isAnonymous``).
    var anonymousCount: Int {
        get { Int(anonymous) }
        set { anonymous = UInt32(newValue) }
    }

    /// The number of anonymous subscribers for whom a backend has signed. A plain name needs no signature, so its anonymous
    /// subscribers may be anybody.
    var signedAnonymousCount: Int { name.access == .open ? 0 : anonymousCount }

    /// Adds a subscriber on a loop.
    mutating func add(loop: Int) {
        if subscribersByLoop.isEmpty, let only = loops.first(where: { _ in true }), only != loop {
            addLoops(upTo: only)
            subscribersByLoop[only] = count
        }
        if !subscribersByLoop.isEmpty {
            addLoops(upTo: loop)
            subscribersByLoop[loop] += 1
        }
        count += 1
        loops.insert(loop)
    }

    private mutating func addLoops(upTo loop: Int) {
        let missing = loop + 1 - subscribersByLoop.count
        if missing > 0 { subscribersByLoop.append(contentsOf: repeatElement(0, count: missing)) }
    }

    /// Removes a subscriber on a loop.
    mutating func remove(loop: Int) {
        count -= 1
        if subscribersByLoop.isEmpty {
            if count == 0 { loops = [] }
        } else {
            subscribersByLoop[loop] -= 1
            if subscribersByLoop[loop] == 0 { loops.remove(loop) }
        }
    }
}
