import Observability
import PusherProtocol
import Server
import Threads

/// What operators see of a loop's connections.
extension Node {
    /// Logs the limits that were reached, and flushes the rate-limited lines. Called once a second on the first loop.
    func reportToOperators() {
        let others = service?.rejections ?? []
        for (limit, count) in metrics.limitsToLog(&limitLog, hub: hub, and: others, at: now) {
            log.warning("limit_reached", ["limit": .text(limit), "count": .number(count)])
        }
        hub.refusals?.flush()
        slowRequests.flush()
    }

    /// The counters of the node for operators, as JSON.
    var stats: [UInt8] { service?.stats ?? Array("{}".utf8) }

    /// Adds the details of this loop's connections to a report; passes it on, or completes it.
    func complete(_ report: ConnectionReport) {
        var report = report
        let now = Clock.unixMilliseconds()  // one for all, so that clients can compare the times
        report.add(loop: index) { details(of: $0, now: now) }
        if index + 1 < hub.mailboxes.count {
            hub.post(.report(report), to: index + 1)
        } else {
            report.completed(report)
        }
    }

    private func details(of socket: SocketID, now: Int64) -> ConnectionReport.Details? {
        guard let (address, outboxBytes) = loop?.client(of: socket), let silence = secondsOfSilence(of: socket) else {
            return nil
        }
        return ConnectionReport.Details(
            outboxBytes: outboxBytes, lastSeenAt: now - Int64(silence) * 1_000, address: address)
    }

    /// How long a request may take before it is logged as slow.
    private static let slowNanoseconds: UInt64 = 1_000_000_000

    /// Logs each request at debug level, and slow ones as warnings.
    package func answered(_ request: AnsweredRequest) {
        let isSlow = request.nanoseconds ?? 0 > Self.slowNanoseconds
        guard isSlow || log.writes(.debug) else { return }
        let fields: KeyValuePairs<String, Log.Value> = [
            "method": .text(request.method?.rawValue ?? "other"), "endpoint": .text(router.patterns[request.endpoint]),
            "status": .number(request.status), "milliseconds": .number(Int((request.nanoseconds ?? 0) / 1_000_000)),
            "bytes": .number(request.bytes), "actor": .optional(request.actor), "correlation_id": .text(request.correlationID),
        ]
        if isSlow { slowRequests.write { fields } }
        log.debug("request", fields)
    }

    /// The seconds since a client has sent anything; nil if the connection is closed.
    func secondsOfSilence(of socket: SocketID) -> Int? {
        guard socket.slot < connections.count, let connection = connections[socket.slot] else { return nil }
        return now - Int(connection.lastSeenAt)
    }
}
