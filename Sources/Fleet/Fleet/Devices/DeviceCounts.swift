/// The number of devices per lane. ``DeviceTable`` records its changes here, because counting the rows takes milliseconds
/// with many devices. A change counts when its transaction has been committed.
final class DeviceCounts {
    private(set) var committed: [PushLane: Int] = [:]
    private var pending: [PushLane: Int] = [:]

    /// Records that the transaction adds devices to a lane, or removes them.
    func add(_ amount: Int, to lane: PushLane) { pending[lane, default: 0] += amount }

    func commit() {
        guard !pending.isEmpty else { return }
        committed.merge(pending, uniquingKeysWith: +)
        pending = [:]
    }

    func rollBack() { pending = [:] }
}
