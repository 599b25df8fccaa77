/// What may happen in a run of the cluster, and what is checked.
package struct ClusterOptions: Sendable {
    /// Nodes are cut off from the bus.
    package var cuts = true
    /// Nodes die, or are frozen for so long that they begin a new life.
    package var deaths = true
    /// Messages are lost.
    package var losses = true
    /// Everything may happen.
    package init() {}
}
