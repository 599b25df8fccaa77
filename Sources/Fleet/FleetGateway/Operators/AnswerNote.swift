import Cluster
import Fleet

/// The answer to a driver's accept, as one node of a cluster tells it to the others: the phone may have reported its view of
/// the offer to another node, which counts how soon the driver accepts (``OfferMetrics``).
struct AnswerNote: Equatable {
    static let kind: UInt8 = 2

    let driverID: String
    let subject: Offer.Subject
    let answer: OfferAnswer
    /// In milliseconds since 1970.
    let at: Int64

    /// The note of an answer; nil for other events.
    init?(_ event: OfferMetricsEvent) {
        guard case .answered(let driverID, let subject, let answer, let at) = event else { return nil }
        (self.driverID, self.subject, self.answer, self.at) = (driverID, subject, answer, at)
    }

    var event: OfferMetricsEvent { .answered(driverID: driverID, subject, answer, at: at) }

    /// A line for each part.
    var note: ClusterNote {
        let (type, id) =
            switch subject {
            case .job(let code): ("job", code)
            case .route(let id): ("route", id)
            }
        let result =
            switch answer {
            case .accepted: "accepted"
            case .taken: "taken"
            case .refused: "refused"
            }
        return ClusterNote(kind: Self.kind, content: Array([driverID, type, id, result, "\(at)"].joined(separator: "\n").utf8))
    }

    /// Nil if the note is another one, malformed, or more than an hour older or newer than `now`, in milliseconds since 1970.
    init?(_ note: ClusterNote, now: Int64) {
        guard note.kind == Self.kind else { return nil }
        let lines = String(decoding: note.content, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 5, let at = Int64(lines[4]), (now - 3_600_000...now + 3_600_000).contains(at) else { return nil }
        switch lines[1] {
        case "job": subject = .job(String(lines[2]))
        case "route": subject = .route(String(lines[2]))
        default: return nil
        }
        switch lines[3] {
        case "accepted": answer = .accepted
        case "taken": answer = .taken
        case "refused": answer = .refused
        default: return nil
        }
        driverID = String(lines[0])
        self.at = at
    }
}
