import FanOut
import HTTP
import JSON

/// The events of one REST request, and the form of its response.
package struct PublishRequest {
    /// In the order of the request.
    package let events: [EventRequest]
    let isBatch: Bool

    /// - Parameter isBatch: whether the response lists attributes by the position of the event (protocol point D6)
    ///   instead of by channel.
    package init(events: [EventRequest], isBatch: Bool) {
        self.events = events
        self.isBatch = isBatch
    }

    /// Whether an event's `info` requests attributes of channels for the response.
    package var requestsAttributes: Bool { events.contains { !$0.info.isEmpty } }

    /// The response: `{}` unless `info` requests attributes (protocol points B1, B12, D1, D6).
    /// - Parameter occupancies: for each event, the occupancy of each of its channels; nil if the channel has no
    ///   subscribers.
    package func response(occupancies: [[Hub.Occupancy?]]) -> HTTPResponse {
        guard requestsAttributes else { return .emptyObject }
        var json = JSONWriter(capacity: 512)
        if isBatch {
            json.object {
                $0.member("batch", Array(zip(events, occupancies))) { json, item in
                    let (event, occupancies) = item
                    json.object {
                        guard let publication = event.publications.first, let occupancy = occupancies.first else { return }
                        $0.attributes(event.info, isPresence: publication.channel.isPresence, occupancy)
                    }
                }
            }
        } else if let event = events.first, let occupancies = occupancies.first {
            json.object {
                $0.member("channels") { json in
                    for (publication, occupancy) in zip(event.publications, occupancies) {
                        json.key(publication.channel.text)
                        json.object {
                            $0.attributes(event.info, isPresence: publication.channel.isPresence, occupancy)
                        }
                    }
                }
            }
        }
        return .json(200, json.bytes)
    }
}
