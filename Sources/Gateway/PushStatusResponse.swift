import FleetRules
import JSON
import Push
import Store

/// The response of `GET /api/ops/push`: the state of the lanes. Contains no personal data.
struct PushStatusResponse {
    let json: [UInt8]

    init(_ statuses: [(lane: PushLane, status: LaneStatus?)]) {
        var json = JSONWriter(capacity: 1_024)
        json.raw(#"{"lanes":["#)
        json.list(statuses) { $0.lane($1.lane, $1.status) }
        json.raw("]}")
        self.json = json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func lane(_ lane: PushLane, _ status: LaneStatus?) {
        raw(#"{"lane":"#)
        string(lane.rawValue)
        raw(#","provider":"#)
        string(lane.provider.rawValue)
        raw(#","state":"#)
        string(status?.state.rawValue ?? "disabled")
        if let status {
            raw(#","since":"#)
            time(status.since)
            raw(#","inFlight":"#)
            integer(status.inFlight)
            raw(#","depth":"#)
            integer(status.depth)
            raw(#","oldestAt":"#)
            time(status.oldestAt)
            raw(#","lastAcceptedAt":"#)
            time(status.lastAcceptedAt)
            raw(#","lastError":"#)
            if let failure = status.lastError {
                raw(#"{"reason":"#)
                string(failure.text)
                raw(#","at":"#)
                time(failure.at)
                raw("}")
            } else {
                raw("null")
            }
        }
        raw("}")
    }
}
