import Testing
import Threads

@Suite struct HeartbeatTests {
    @Test func everyBeatChangesTheNumber() {
        let heartbeat = Heartbeat("loop-0")
        var seen = [heartbeat.beats]
        for _ in 0..<10 {
            heartbeat.beat()
            seen.append(heartbeat.beats)
        }
        #expect(seen == (0...10).map { $0 } && heartbeat.name == "loop-0")
    }

    @Test func hasNoBeatsAfterTheEnd() {
        let heartbeat = Heartbeat("loop-0")
        heartbeat.beat()
        heartbeat.end()
        #expect(heartbeat.beats == nil)
    }

    @Test func otherThreadsSeeTheBeats() {
        let heartbeat = Heartbeat("loop-0")
        Thread(name: "beating") { for _ in 0..<1_000 { heartbeat.beat() } }.join()
        #expect(heartbeat.beats == 1_000)
    }
}
