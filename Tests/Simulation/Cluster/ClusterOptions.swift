/// What may happen in a run of the cluster, and what is checked.
package struct ClusterOptions: Sendable {
    /// Nodes are cut off from the bus.
    package var cuts = true
    /// Nodes die, or are frozen for so long that they begin a new life.
    package var deaths = true
    /// Messages are lost.
    package var losses = true
    /// Whether webhooks must know the right state after a node was cut off. They may not: shares that are reported to a
    /// keeper while it is cut off are lost, and so is what a node could not report itself.
    package var checksEdgesAfterCuts = false

    /// Whether webhooks must know the right state after a node has died. In one run of some hundreds they do not: while nodes
    /// come and go, two may decide in different orders.
    package var checksEdgesAfterDeaths = true

    /// Everything may happen.
    package init() {}
}
