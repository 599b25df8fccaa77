import Crypto
import FleetRules
import HTTPClient
import Testing
import Threads

@testable import Push

/// One turn of the thread. Its provider's port is closed.
@Suite struct PushWorkerLoopTests {
    /// What the environment recorded.
    private struct Seen {
        var reports: [PushReport] = []
        /// How many more reports the store accepts.
        var room = Int.max
    }

    private let seen = Lock(Seen())
    private let shared = PushWorker.Shared()

    private func loop() throws -> PushWorkerLoop {
        let token = APNsToken(teamID: "TEAM123456", keyID: "KEY1234567", key: try PrivateKey(pem: PushKeys.p256))
        let provider = Provider.apns(APNsAddress(host: "127.0.0.1", port: 1, topic: "uk.example.driver"), token: token)
        let environment = PushWorker.Environment(
            now: { PushFixture.now },
            report: { [seen] report in
                seen.withLock { seen in
                    seen.reports.append(report)
                    seen.room -= 1
                    return seen.room >= 0
                }
            }, isConnected: { _ in false }, event: { _ in })
        return PushWorkerLoop(provider, PushFixture.texts, environment, shared)
    }

    private func leave(_ command: (inout PushWorker.Commands) -> Void) { shared.commands.withLock { command(&$0) } }

    private func supply(_ jobs: [PushJob]) -> PushLease {
        var supply = PushLease(lane: .apns)
        supply.jobs = jobs
        return supply
    }

    private var inFlight: Int { shared.status.withLock { $0.inFlight } }

    /// Both commands may arrive between two turns.
    @Test func deviceLostWithItsLeaseGetsNothing() throws {
        var loop = try loop()
        _ = loop.turn(PushFixture.now)
        let (lost, other) = (LaneFixture.job(1, device: "D"), LaneFixture.job(2))
        leave {
            $0.lease = supply([lost, other])
            $0.lostDevices = ["D"]
        }
        _ = loop.turn(PushFixture.now)
        #expect(inFlight == 1)
        #expect(seen.withLock { $0.reports.last?.outcomes } == [PushOutcome(lost, .returned, wasTried: false)])
    }

    /// Otherwise accepted pushes would be sent again after the next start.
    @Test func repeatsAnUnconfirmedReportAtTheEnd() throws {
        let jobs = LaneFixture.jobs(1...2)
        let unsent = jobs.map { PushOutcome($0, .returned, wasTried: false) }
        for room in [0, 1] {
            var loop = try loop()
            seen.withLock { $0 = Seen(room: room) }
            leave {
                $0.lease = supply(jobs)
                $0.stopAt = 0
            }
            loop.run()
            // Refused, or not replied to.
            #expect(seen.withLock { $0.reports } == (1...2).map { _ in PushReport(lane: .apns, outcomes: unsent, capacity: 0) })
        }
    }

    @Test func sendsNoFinalReportWithoutResults() throws {
        var loop = try loop()
        leave { $0.stopAt = 0 }
        loop.run()
        #expect(seen.withLock { $0.reports.allSatisfy { $0.outcomes.isEmpty } })
    }
}
