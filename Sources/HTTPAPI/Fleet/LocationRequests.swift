import FleetRules
import JSON
import Primitives

/// Parses drivers' positions.
extension JSONBody {
    /// The maximum number of positions in one request.
    private static let positionsMax = 100

    /// One position, or `{"positions":[…]}`. If one position is invalid, the whole request is rejected.
    func positions() throws(APIError) -> [Position] {
        guard let elements = try list("positions", countMax: Self.positionsMax) else { return [try position()] }
        var positions: [Position] = []
        for (index, element) in elements.enumerated() {
            guard element.kind == .object else { throw .invalid("positions[\(index)]", "be an object") }
            positions.append(try JSONBody(element.raw, of: "positions[\(index)]").position())
        }
        return positions
    }

    private func position() throws(APIError) -> Position {
        let latitude = try required("latitude", -90...90)
        let longitude = try required("longitude", -180...180)
        let heading = try double("heading", 0...360)
        _ = try double("speed", 0...150)  // the way along the positions gives a speed that phones cannot get wrong
        let recorded = try time("recordedAt").value
        return Position(
            latitude: latitude, longitude: longitude, heading: heading == 360 ? 0 : heading,
            accuracy: try double("accuracy", 0...10_000),
            recordedAt: recorded.flatMap { Timestamp.milliseconds(iso8601: $0) } ?? .max)
    }

    private func required(_ name: String, _ range: ClosedRange<Double>) throws(APIError) -> Double {
        guard let number = try double(name, range) else { throw missing(name, "a number") }
        return number
    }

    /// A number within `range`. Nil if absent or null. The error does not show the number: it may be a position.
    private func double(_ name: String, _ range: ClosedRange<Double>) throws(APIError) -> Double? {
        guard let text = try number(name).value?.text, let number = Double(text) else { return nil }
        guard range.contains(number) else {
            throw invalid(name, "be from \(Int(range.lowerBound)) to \(Int(range.upperBound))")
        }
        return number + 0  // -0 becomes 0
    }
}
