import Primitives

/// The estimated time of arrival.
extension Track {
    /// The minutes to a place, rounded up. Nil if the place is nil, or no position is new enough.
    /// - Parameter now: milliseconds since 1970.
    package func etaMinutes(to place: Coordinates?, now: Int64, _ rules: TripRules) -> Int? {
        guard let place, let newest, now - newest.recordedAt <= Int64(rules.staleSeconds) * 1_000 else { return nil }
        let minutes = (newest.metres(to: place) * rules.detourFactor / metresPerSecond(now, rules) / 60).rounded(.up)
        // Half the earth at the lowest speed is 120,000 minutes; only the configured factor can make it absurd.
        return minutes < Double(Int32.max) ? Int(minutes) : nil
    }

    private func metresPerSecond(_ now: Int64, _ rules: TripRules) -> Double {
        let fresh = points.drop { $0.at < now - Self.window }
        guard let first = fresh.first, let last = fresh.last, last.time > first.time else { return rules.defaultSpeedKmh / 3.6 }
        let kmh = (last.metres - first.metres) / Double(last.time - first.time) * 3_600
        return min(max(kmh, Self.speeds.lowerBound), Self.speeds.upperBound) / 3.6
    }
}
