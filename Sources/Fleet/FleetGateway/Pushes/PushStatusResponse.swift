import Fleet
import JSON
import Push

/// The response of `GET /api/ops/push`: the state of the lanes. Contains no personal data.
struct PushStatusResponse {
    let json: [UInt8]

    init(_ statuses: [(lane: PushLane, status: LaneStatus?, queue: PushQueue?)]) {
        var json = JSONWriter(capacity: 1_024)
        json.object { $0.member("lanes", statuses) { $0.lane($1.lane, $1.status, $1.queue) } }
        self.json = json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func lane(_ lane: PushLane, _ status: LaneStatus?, _ queue: PushQueue?) {
        object {
            $0.member("lane", lane.rawValue)
            $0.member("provider", lane.provider.rawValue)
            $0.member("state", status?.state.rawValue ?? "disabled")
            guard let status else { return }
            $0.member("since", time: status.since)
            $0.member("pausedUntil", time: status.pausedUntil)
            $0.member("inFlight", status.inFlight)
            $0.member("depth", queue?.depth ?? 0)
            $0.member("oldestAt", time: queue?.oldestAt)
            $0.member("lastAcceptedAt", time: status.lastAcceptedAt)
            guard let failure = status.lastError else { return $0.member("lastError", nil as String?) }
            $0.member("lastError") {
                $0.member("reason", failure.text)
                $0.member("at", time: failure.at)
            }
        }
    }
}
