/// A defect that a test plants in the composition of the simulated nodes, to prove that the judge finds it.
package enum ClusterFault: Sendable, CaseIterable {
    /// Subscriptions go on before the server has acknowledged their subject.
    case successBeforeGrant
    /// A node that has lost its connection goes on judging the others by their heartbeats.
    case judgesWhileDisconnected
    /// A node believes every five seconds that it has just connected, so that it gives no node up.
    case neverJudges
    /// Each node tells webhooks of its own first and last subscribers.
    case decidesEdgesItself
    /// What a node could not send during an outage is sent after it, and what was under way arrives then.
    case lateBuffer
    /// A node does not hear the others' answers about a channel's members.
    case ignoresMembers
}
