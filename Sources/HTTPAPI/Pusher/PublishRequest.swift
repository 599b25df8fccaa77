import FanOut
import HTTP
import JSON

/// Events that are ready to be published, and how their publisher is answered.
package struct PublishRequest {
    package let events: [EventRequest]
    let isBatch: Bool

    /// - Parameter isBatch: whether the answer lists the events' channels by position (D6).
    package init(events: [EventRequest], isBatch: Bool) {
        self.events = events
        self.isBatch = isBatch
    }

    /// Whether the answer needs to know who listens.
    package var asksForInfo: Bool { events.contains { !$0.info.isEmpty } }

    /// The answer, `{}` unless info was asked for (B1, B12, D1, D6).
    /// - Parameter occupancies: of every channel of every event.
    package func response(occupancies: [[Hub.Occupancy?]]) -> HTTPResponse {
        guard asksForInfo else { return .emptyObject }
        var json = JSONWriter(capacity: 512)
        if isBatch {
            json.raw(#"{"batch":["#)
            for (index, (event, occupancies)) in zip(events, occupancies).enumerated() {
                json.raw(index > 0 ? ",{" : "{")
                if let publication = event.publications.first, let occupancy = occupancies.first {
                    json.attributes(event.info, isPresence: publication.channel.isPresence, occupancy)
                }
                json.raw("}")
            }
            json.raw("]}")
        } else if let event = events.first, let occupancies = occupancies.first {
            json.raw(#"{"channels":{"#)
            for (index, (publication, occupancy)) in zip(event.publications, occupancies).enumerated() {
                if index > 0 { json.raw(",") }
                json.string(publication.channel.text)
                json.raw(":{")
                json.attributes(event.info, isPresence: publication.channel.isPresence, occupancy)
                json.raw("}")
            }
            json.raw("}}")
        }
        return .json(200, json.bytes)
    }
}
