import Cluster
import Fleet

/// Positions of a driver, as one node of a cluster tells them to the others: a line for the driver, and one for each
/// position.
struct PositionNote {
    static let kind: UInt8 = 1

    let driverID: String
    let positions: [Position]

    var note: ClusterNote {
        let lines = positions.map { position in
            [
                "\(position.latitude)", "\(position.longitude)", position.heading.map { "\($0)" } ?? "-",
                position.accuracy.map { "\($0)" } ?? "-", "\(position.recordedAt)", position.speed.map { "\($0)" } ?? "-",
            ].joined(separator: " ")
        }
        return ClusterNote(kind: Self.kind, content: Array(([driverID] + lines).joined(separator: "\n").utf8))
    }

    init(driverID: String, positions: [Position]) {
        self.driverID = driverID
        self.positions = positions
    }

    /// Nil if the note is another one, or malformed.
    init?(_ note: ClusterNote) {
        guard note.kind == Self.kind else { return nil }
        let lines = String(decoding: note.content, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard let driver = lines.first else { return nil }
        driverID = String(driver)
        positions = lines.dropFirst().compactMap { line in
            let parts = line.split(separator: " ")
            guard parts.count == 6, let latitude = Double(parts[0]), let longitude = Double(parts[1]),
                let recordedAt = Int64(parts[4])
            else { return nil }
            return Position(
                latitude: latitude, longitude: longitude, heading: Double(parts[2]), accuracy: Double(parts[3]),
                speed: Double(parts[5]), recordedAt: recordedAt)
        }
    }
}
