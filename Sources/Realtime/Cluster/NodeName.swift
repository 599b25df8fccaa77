/// One life of a node. A node that starts, or that was frozen for so long that the others have given it up, begins a new
/// one, and what it had before is void.
package struct Epoch: Hashable, Sendable, CustomStringConvertible {
    /// Random; 0 is no epoch.
    package let value: UInt64

    package init(_ value: UInt64) { self.value = value }

    package init(using random: inout some RandomNumberGenerator) {
        var value: UInt64
        repeat { value = random.next() } while value == 0
        self.value = value
    }

    package var description: String { String(value, radix: 16) }
}

/// A node of the cluster: its name, which operators read, and its epoch, which messages carry.
package struct ClusterNode: Hashable, Sendable {
    /// 1 to 64 of `A-Z a-z 0-9 _ -`.
    package let name: String
    package let epoch: Epoch

    package init(name: String, epoch: Epoch) {
        self.name = name
        self.epoch = epoch
    }
}
