import Fleet
import Observability

/// Counts positions, arrivals and the moments of trips. The store's threads and the loops write, any thread reads.
final class TripCounters: Sendable {
    /// What became of a position. Raw values are labels.
    private enum Outcome: String, CaseIterable { case accepted, ignored, copy, jump, invalid, limited }

    /// What showed that a driver has arrived. Raw values are labels.
    enum ArrivalSource: String, CaseIterable {
        case position
        /// The way between two positions.
        case between
        case driver
    }

    /// Who has taken an arrival back. Raw values are labels.
    enum Corrector: String, CaseIterable { case admin, driver }

    private let positions = LabelledCounter<Outcome>(
        "locations_total", "Positions of drivers, by outcome; limited: requests that came too early.", by: "outcome")
    /// They count as of the present time.
    let withoutOffset = Counter(
        "locations_without_offset_total",
        "Positions and telemetry events whose time had no offset: they count as of now.")
    let arrivals = LabelledCounter<ArrivalSource>(
        "arrivals_total", "Arrivals at the pickup, by what showed them.", by: "by")
    let corrections = LabelledCounter<Corrector>(
        "arrivals_corrected_total", "Arrivals that were taken back, by whom.", by: "by")
    private let moments = LabelledCounter<TripMoment>(
        "trip_moments_total", "Moments of trips of which customers were told, by type.", by: "type")
    let arrivalToPush = SharedHistogram(
        "arrival_to_push_seconds", "From the driver's arrival to the first accepted push.", bounds: arrivalBounds)
    let arrivalToReceived = SharedHistogram(
        "arrival_to_received_seconds", "From the driver's arrival until the phone has received it.", bounds: arrivalBounds)

    private static let arrivalBounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

    /// Counts a driver's positions.
    func count(_ receipt: LocationReceipt) {
        let counts: KeyValuePairs<Outcome, Int> = [
            .accepted: receipt.accepted, .ignored: receipt.ignored - receipt.copies - receipt.jumps - receipt.invalid,
            .copy: receipt.copies, .jump: receipt.jumps, .invalid: receipt.invalid,
        ]
        positions.add(counts)
    }

    /// Counts a request with positions that came too early.
    func countLimited() { positions.add(to: .limited) }

    /// Counts the moments of trips in a commit.
    func count(_ result: CommandResult) {
        for notification in result.notifications {
            // Admins can announce an arrival, but on other channels.
            guard notification.channel.utf8.starts(with: "booking-".utf8),
                let moment = TripMoment(event: notification.event)
            else { continue }
            moments.add(to: moment)
        }
    }

    var families: [MetricFamily] {
        [
            positions.family, withoutOffset.family, arrivals.family, corrections.family, moments.family,
            arrivalToPush.family, arrivalToReceived.family,
        ]
    }
}
