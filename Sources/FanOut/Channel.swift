import PusherProtocol

/// A channel with at least one subscriber.
struct Channel {
    let name: ChannelName
    let app: AppIndex
    /// Those with at least one subscriber.
    private(set) var loops = LoopSet()
    /// All subscribers.
    private(set) var subscriberCount = 0
    /// Those of them who have not proved who they are.
    var anonymousCount = 0
    /// Who is there; on presence channels only.
    var presence: Presence?
    /// Whether subscribers are still to hear how many they are.
    var countIsDue = false
    private var subscribersByLoop: [UInt32]

    init(name: ChannelName, app: AppIndex, loopCount: Int) {
        self.name = name
        self.app = app
        presence = name.isPresence ? Presence() : nil
        subscribersByLoop = Array(repeating: 0, count: loopCount)
    }

    mutating func add(loop: Int) {
        subscribersByLoop[loop] += 1
        subscriberCount += 1
        loops.insert(loop)
    }

    mutating func remove(loop: Int) {
        subscribersByLoop[loop] -= 1
        subscriberCount -= 1
        if subscribersByLoop[loop] == 0 { loops.remove(loop) }
    }
}
