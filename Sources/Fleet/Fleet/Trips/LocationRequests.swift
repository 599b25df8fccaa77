import JSON
import Primitives
import PusherAPI

/// The positions of a request.
package struct LocationReport: Equatable, Sendable {
    /// Those without a time, or with a time without an offset, have `Int64.max`, which counts as the present time.
    package var positions: [Position] = []
    /// The number of positions whose time has no offset: it may be the phone's local time.
    package var withoutOffset = 0
}

/// Parses drivers' positions.
extension JSONBody {
    /// The maximum number of positions in one request.
    private static let positionsMax = 100

    /// One position, or `{"positions":[…]}`. If one position is wrong, the whole request is rejected.
    func positions() throws(APIError) -> LocationReport {
        var report = LocationReport()
        guard let elements = try list("positions", countMax: Self.positionsMax) else {
            try addPosition(to: &report)
            return report
        }
        for (index, element) in elements.enumerated() {
            guard element.kind == .object else { throw .invalid("positions[\(index)]", "be an object") }
            try JSONBody(element.raw, of: "positions[\(index)]").addPosition(to: &report)
        }
        return report
    }

    /// Phones write -1 for what they do not know (Apple, `CLLocation`): it refuses no list.
    private func addPosition(to report: inout LocationReport) throws(APIError) {
        let latitude = try required("latitude", -90...90)
        let longitude = try required("longitude", -180...180)
        let heading = try double("heading").flatMap { $0 < 0 ? nil : $0 }
        if let heading, heading > 360 { throw invalid("heading", "be from 0 to 360") }
        let speed = try double("speed").flatMap { (0...Self.speedMax).contains($0) ? $0 : nil }
        let moment = try time("recordedAt").value.flatMap { Timestamp.moment(iso8601: $0) }
        if let moment, !moment.hasOffset { report.withoutOffset += 1 }
        report.positions.append(
            Position(
                latitude: latitude, longitude: longitude, heading: heading == 360 ? 0 : heading,
                accuracy: try double("accuracy").map { $0 > Self.accuracyMax ? Position.badAccuracy : $0 }, speed: speed,
                recordedAt: moment.flatMap { $0.hasOffset ? $0.milliseconds : nil } ?? .max))
    }

    /// A higher speed, in metres per second, is not known.
    private static let speedMax = 150.0
    /// A higher accuracy, in metres, is a bad one.
    private static let accuracyMax = 10_000.0

    private func required(_ name: String, _ range: ClosedRange<Double>) throws(APIError) -> Double {
        guard let number = try double(name) else { throw missing(name, "a number") }
        // The error does not show the number: it is a position.
        guard range.contains(number) else {
            throw invalid(name, "be from \(Int(range.lowerBound)) to \(Int(range.upperBound))")
        }
        return number
    }

    /// A number. Nil if absent or null.
    private func double(_ name: String) throws(APIError) -> Double? {
        guard let text = try number(name).value?.text, let number = Double(text) else { return nil }
        return number + 0  // -0 becomes 0
    }
}
