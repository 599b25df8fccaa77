import PusherProtocol
import Server
import Threads

/// What operators see of a loop's connections.
extension Node {
    /// The body of `GET /api/ops/stats`.
    var stats: [UInt8] { StatsResponse(metrics: metrics, hub: hub, fleet: fleet, apps: appIDs).json }

    /// Adds the details of this loop's connections to a report; passes it on, or responds.
    func complete(_ report: ConnectionReport) {
        var report = report
        report.add(loop: index) { details(of: $0) }
        if index + 1 < hub.mailboxes.count {
            hub.post(.report(report), to: index + 1)
        } else {
            hub.post(.response(report.response(apps: appIDs), to: report.request), to: report.loop)
        }
    }

    private func details(of socket: SocketID) -> ConnectionReport.Details? {
        guard let (address, outboxBytes) = loop?.client(of: socket), let silence = secondsOfSilence(of: socket) else {
            return nil
        }
        return ConnectionReport.Details(
            outboxBytes: outboxBytes, lastSeenAt: Clock.unixMilliseconds() - Int64(silence) * 1_000, address: address)
    }
}
