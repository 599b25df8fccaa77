import Primitives

/// The constants of time between the nodes of a cluster.
extension Timing {
    /// After an outage of the bus, the other nodes may need so long to connect again: their attempts are at most ten
    /// seconds apart.
    static let busReconnectMax = milliseconds(11_000)
    /// How long a subscription may wait for the bus's acknowledgement and for other nodes' members.
    static let interestPatience = milliseconds(1_000)
    /// How long the subject of a channel without subscribers stays subscribed, so that clients who come and go cost
    /// nothing.
    static let interestLinger = milliseconds(5_000)
    /// How long heartbeats name the version of a presence channel that has changed.
    static let memberVersionAnnounced = milliseconds(10_000)
    /// How long the version of a presence channel without members is kept.
    static let memberVersionKept = milliseconds(60_000)
    /// How often the counts of large channels are told to their keepers.
    static let keeperCountInterval = milliseconds(5_000)
    /// How often a keeper looks for old facts: that takes a while. With many channels it is done less often.
    static let keeperSweepInterval = milliseconds(2_000)
    /// The end of a subscription or a membership is told so much later, if it still holds (protocol point V5). The keeper
    /// waits, not its queue of webhooks: another node may keep the channel by then.
    static let keeperAbsence = milliseconds(3_000)
    /// Edges are not told so soon after the set of nodes has changed: a node that comes hears of the others one after the
    /// other.
    static let keeperSettling = milliseconds(500)
    /// A message is discarded if its next part has not come after this time.
    static let messagePartPatience = milliseconds(10_000)
    /// How long another node's answer may take.
    static let questionPatience = milliseconds(1_000)
}
