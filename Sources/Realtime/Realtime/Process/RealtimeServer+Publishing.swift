import FanOut
import JSON
import PusherAPI

extension RealtimeServer {
    /// Why an event was not published: nobody got it.
    public struct PublishError: Error, CustomStringConvertible {
        /// What was expected, and found.
        public let description: String
    }

    /// Publishes an event to some channels, under the rules of `POST /apps/ID/events`. Any thread may call it.
    /// - Parameters:
    ///   - data: what subscribers get as the event's `data`; mostly JSON.
    ///   - app: the id of one of the configured apps.
    /// - Throws: ``PublishError`` if there is no such app, a name or the data is outside the app's limits, or a queue is full.
    public func publish(_ event: String, data: String, on channels: [String], ofApp app: String) throws(PublishError) {
        guard let index = assembly.configuration.apps.firstIndex(where: { $0.id == app }) else {
            throw PublishError(description: "There is no app \(app)")
        }
        let request = try Self.request(event, data: data, on: channels, assembly.rules[index])
        var woken = SharedHub.ThreadsToWake()
        let result = assembly.hub.publish(request, app: index, &woken)
        assembly.hub.wake(woken)
        switch result {
        case .published: break
        case .rejected: throw PublishError(description: "Overloaded: try again")
        case .partitioned: throw PublishError(description: "The other nodes cannot be reached: try again")
        }
    }

    /// The request of a backend that publishes the same.
    static func request(
        _ event: String, data: String, on channels: [String], _ rules: AppRules
    ) throws(PublishError) -> PublishRequest {
        var json = JSONWriter(capacity: 256 + data.utf8.count)
        json.object {
            $0.member("name", event)
            $0.member("channels", channels)
            $0.member("data", data)
        }
        let body = json.bytes
        do throws(APIError) {
            let event = try body.withUnsafeBufferPointer { (body) throws(APIError) in
                try EventRequest(UnsafeRawBufferPointer(body), rules: rules)
            }
            return PublishRequest(events: [event], isBatch: false)
        } catch {
            throw PublishError(description: error.text)
        }
    }
}
