import Crypto
import Fleet
import HTTPClient
import Testing
import Threads

@testable import Push

/// Turns of the worker's thread. No request gets a response, because the provider's port is closed.
@Suite struct PushWorkerLoopTests {
    /// What the environment recorded.
    private struct Recorded {
        var reports: [PushReport] = []
        /// How many more reports the store accepts.
        var room = Int.max
    }

    private let recorded = Lock(Recorded())
    private let shared = PushWorker.Shared()

    private func makeLoop() throws -> PushWorkerLoop {
        let token = APNsToken(teamID: "TEAM123456", keyID: "KEY1234567", key: try PrivateKey(pem: PushKeys.p256))
        let provider = Provider.apns(APNsAddress(host: "127.0.0.1", port: 1, topic: "uk.example.driver"), token: token)
        let environment = PushWorker.Environment(
            now: { PushFixture.now },
            report: { [recorded] report in
                recorded.withLock { recorded in
                    recorded.reports.append(report)
                    recorded.room -= 1
                    return recorded.room >= 0
                }
            }, presence: { _ in .away }, event: { _ in })
        return PushWorkerLoop(provider, PushFixture.catalogue, environment, shared)
    }

    private func post(_ command: (inout PushWorker.Commands) -> Void) { shared.commands.withLock { command(&$0) } }

    private func lease(_ jobs: [PushJob]) -> PushLease {
        var lease = PushLease(lane: .apns)
        lease.jobs = jobs
        return lease
    }

    private var inFlight: Int { shared.status.withLock { $0.inFlight } }

    /// The lease and the lost device may arrive between the same two turns.
    @Test func deviceLostTogetherWithItsLeaseGetsNothing() throws {
        var loop = try makeLoop()
        _ = loop.turn(PushFixture.now)
        let (lost, other) = (LaneFixture.job(1, device: "D"), LaneFixture.job(2))
        post {
            $0.lease = lease([lost, other])
            $0.lostDevices = ["D"]
        }
        _ = loop.turn(PushFixture.now)
        #expect(inFlight == 1)
        #expect(recorded.withLock { $0.reports.last?.outcomes } == [PushOutcome(lost, .returned, wasTried: false)])
    }

    /// Without the repeated report, accepted pushes would be sent again after the next start.
    @Test func repeatsAnUnconfirmedReportAtTheEnd() throws {
        let jobs = LaneFixture.jobs(1...2)
        let unsent = jobs.map { PushOutcome($0, .returned, wasTried: false) }
        // With room 0 the store refuses the first report; with room 1 it accepts the report but does not reply.
        for room in [0, 1] {
            var loop = try makeLoop()
            recorded.withLock { $0 = Recorded(room: room) }
            post {
                $0.lease = lease(jobs)
                $0.stopAt = 0
            }
            loop.run()
            let report = PushReport(lane: .apns, outcomes: unsent, capacity: 0)
            #expect(recorded.withLock { $0.reports } == [report, report])
        }
    }

    @Test func sendsNoFinalReportWithoutResults() throws {
        var loop = try makeLoop()
        post { $0.stopAt = 0 }
        loop.run()
        #expect(recorded.withLock { $0.reports.allSatisfy { $0.outcomes.isEmpty } })
    }
}
