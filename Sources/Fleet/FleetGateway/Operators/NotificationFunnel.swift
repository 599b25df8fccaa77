import Fleet

/// How many notifications of the last day came how far, by minute. A pure value.
struct NotificationFunnel {
    /// The states that the funnel shows, in their order.
    static let states: [NotificationState] = [.created, .pushed, .received, .viewed, .accepted, .dismissed]
    /// The periods that it is asked for: names, and minutes.
    static let periods: [(name: StaticString, minutes: Int)] = [("last15Minutes", 15), ("lastHour", 60), ("lastDay", 1_440)]

    private struct Slice {
        var minute = -1
        var counts = [Int](repeating: 0, count: NotificationFunnel.states.count)
    }

    private var slices: [Slice?] = Array(repeating: nil, count: 1_440)

    /// - Parameter minute: of a clock that only goes forward.
    mutating func add(_ notifications: NotificationCounts, minute: Int) {
        let index = minute % slices.count
        if slices[index]?.minute != minute { slices[index] = Slice(minute: minute) }
        for (arrival, count) in notifications.arrivals {
            if let state = Self.states.firstIndex(of: arrival.state) { slices[index]!.counts[state] += count }
        }
    }

    /// The counts of the last minutes, the present one included, in the order of ``states``.
    func counts(minutes: Int, until now: Int) -> [Int] {
        var sums = [Int](repeating: 0, count: Self.states.count)
        for case let slice? in slices where slice.minute > now - minutes && slice.minute <= now {
            for index in sums.indices { sums[index] += slice.counts[index] }
        }
        return sums
    }
}
