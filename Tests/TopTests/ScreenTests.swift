import Testing
import Top

@Suite struct ScreenTests {
    private static func stats(_ sent: Int, opened: Int = 10) -> Figures? {
        Figures(
            json: Array(
                """
                {"connections":5000,"channels":3,"subscriptions":5003,"users":0,"opened":\(opened),"closed":2,\
                "closes":{"1000":2,"4200":7},"messages":{"received":5,"sent":\(sent)},"bytes":{"received":1,"sent":\(sent * 300)},\
                "http":{"lastMinute":{"requests":4,"errors":1,"p50Ms":2,"p99Ms":6}},"unconfirmed":3,\
                "funnel":{"last15Minutes":{"created":11,"pushed":4,"received":3,"viewed":2,"accepted":1,"dismissed":0}},\
                "loops":[{"loop":0,"connections":5000,"messagesReceived":5,"messagesSent":\(sent),"requests":9,\
                "outboxBytes":2048,"mailbox":6}],"store":{"commits":1,"commands":2,"failed":0,"writerQueue":4,"readerQueue":5}}
                """.utf8))
    }

    private static let push = Figures(
        json: Array(
            """
            {"lanes":[{"lane":"apns","state":"disabled"},{"lane":"fcm","state":"open","depth":12345,"inFlight":7,\
            "lastError":{"reason":"UNAVAILABLE","at":"x"}}]}
            """.utf8))

    private func screen() throws -> Screen {
        let earlier = Sample(milliseconds: 1_000, stats: try #require(Self.stats(100)), push: Self.push)
        let current = Sample(milliseconds: 3_000, stats: try #require(Self.stats(20_100)), push: Self.push)
        return Screen(target: "http://h", time: "now", current: current, earlier: earlier)
    }

    @Test func showsRatesLanesLoopsAndTheFunnel() throws {
        let lines = try screen().lines(width: 80, height: 24)
        #expect(lines[0] == "fleetwire top  http://h" + String(repeating: " ", count: 54) + "now")
        #expect(lines[1].hasPrefix("connections   now 5,000        opened 0/s       closed 0/s"))
        #expect(lines.contains { $0.hasPrefix("messages      in 0/s           out 10,000/s") })
        #expect(lines.contains { $0.hasPrefix("bytes         in 0 B/s         out 3.00 MB/s") })
        #expect(lines.contains { $0.hasPrefix("requests      now 0/s          p50 2 ms         p99 6 ms         errors 1") })
        #expect(lines.contains { $0.hasPrefix("store         commands 0/s     commits 0/s      queues 4+5") })
        #expect(lines.contains { $0.hasPrefix("closes        4200 7           1000 2") })
        #expect(lines.contains { $0.hasPrefix("fcm            open            12,345          7  UNAVAILABLE") })
        #expect(lines.contains("0           5,000          0     10,000            0    2.05 kB        6"))
        #expect(lines.contains("  last 15 min          11          4          3          2          1          0"))
        #expect(lines.contains("  unconfirmed now: 3"))
        #expect(lines.count <= 24 && lines.allSatisfy { $0.count <= 80 })
    }

    @Test func showsUntilWhenALaneIsPaused() throws {
        let json = """
            {"lanes":[{"lane":"fcm","state":"paused","depth":1,"inFlight":0,"pausedUntil":"2026-11-25T19:37:02.125Z",\
            "lastError":{"reason":"UNAVAILABLE","at":"x"}},{"lane":"apns","state":"paused","pausedUntil":"soon"}]}
            """
        let sample = Sample(milliseconds: 1, stats: try #require(Self.stats(1)), push: Figures(json: Array(json.utf8)))
        let lines = Screen(target: "h", time: "t", current: sample).lines(width: 80, height: 24)
        #expect(lines.contains("fcm            paused               1          0  until 19:37:02Z: UNAVAILABLE"))
        #expect(lines.contains { $0.hasPrefix("apns           paused") && $0.hasSuffix("  until soon: -") })
    }

    @Test func fitsIntoASmallTerminal() throws {
        let lines = try screen().lines(width: 20, height: 5)
        #expect(lines.count == 5 && lines.allSatisfy { $0.count <= 20 })
        #expect(lines[1] == "connections   now 5,")
    }

    @Test func withoutAnEarlierSampleThereAreNoRates() throws {
        var screen = try screen()
        screen.earlier = nil
        #expect(screen.lines(width: 80, height: 24)[1].hasPrefix("connections   now 5,000        opened -         closed -"))
    }

    @Test func aRestartedGatewayHasNoRates() throws {
        let before = Sample(milliseconds: 0, stats: try #require(Self.stats(500, opened: 100)), push: nil)
        let after = Sample(milliseconds: 1_000, stats: try #require(Self.stats(600, opened: 1)), push: nil)
        #expect(after.rate("opened", since: before) == nil)
        #expect(after.rate("messages.sent", since: before) == 100)
        #expect(after.rate("messages.sent", since: after) == nil)
    }

    @Test func keepsTheFiguresWhenTheGatewayStopsAnswering() throws {
        var screen = try screen()
        screen.take(.problem("does not answer: refused"))
        #expect(screen.lines(width: 80, height: 24)[1] == "The gateway does not answer: refused")
        #expect(screen.lines(width: 80, height: 24)[2].hasPrefix("connections   now 5,000"))
        let sample = try #require(screen.current)
        screen.take(.sample(sample))
        #expect(screen.problem == nil && screen.earlier == sample)
    }

    @Test func showsWhatAnEarlierVersionTells() throws {
        let stats = try #require(Figures(json: Array(#"{"connections":1,"loops":[]}"#.utf8)))
        let sample = Sample(milliseconds: 1, stats: stats, push: nil)
        let lines = Screen(target: "h", time: "t", current: sample).lines(width: 80, height: 24)
        #expect(lines[1].hasPrefix("connections   now 1            opened -         closed -"))
    }

    /// What a cluster tells: the nodes by name, with these numbers of messages.
    private static func cluster(_ sent: [(node: String, sent: Int)]) -> Figures? {
        let nodes = sent.map {
            #"{"node":"\#($0.node)","connections":4000,"subscriptions":12,"messagesReceived":7,"messagesSent":\#($0.sent),"requests":3}"#
        }
        let loops = sent.map {
            #"{"node":"\#($0.node)","loop":0,"connections":4000,"messagesSent":\#($0.sent),"mailbox":2,"outboxBytes":2048}"#
        }
        let sum = sent.reduce(0) { $0 + $1.sent }
        let json = """
            {"connections":8000,"messages":{"received":1,"sent":\(sum)},"nodes":[\(nodes.joined(separator: ","))],\
            "loops":[\(loops.joined(separator: ","))]}
            """
        return Figures(json: Array(json.utf8))
    }

    @Test func showsTheNodesOfACluster() throws {
        let long = "node-0123456789abcdef"
        let earlier = try #require(Self.cluster([("a", 0), (long, 500)]))
        let current = try #require(Self.cluster([("a", 100), (long, 20_500)]))
        let screen = Screen(
            target: "h", time: "t", current: Sample(milliseconds: 1_000, stats: current, push: nil),
            earlier: Sample(milliseconds: 0, stats: earlier, push: nil))
        let lines = screen.lines(width: 80, height: 40)
        #expect(lines.contains("node                  connections subscribed      in/s     out/s  requests/s"))
        #expect(lines.contains("a                           4,000         12         0       100           0"))
        #expect(lines.contains("node-0123456789a..          4,000         12         0    20,000           0"))
        #expect(lines.contains("a 0                         4,000        -      100          -  2.05 kB        2"))
        #expect(lines.allSatisfy { $0.count <= 80 })
    }

    @Test func hasNoRatesWhenANodeHasComeOrGone() throws {
        let one = Sample(milliseconds: 0, stats: try #require(Self.cluster([("a", 0)])), push: nil)
        let two = Sample(milliseconds: 1_000, stats: try #require(Self.cluster([("a", 1), ("b", 5_000)])), push: nil)
        let three = Sample(milliseconds: 2_000, stats: try #require(Self.cluster([("a", 2), ("b", 5_000)])), push: nil)
        #expect(two.rate("messages.sent", since: one) == nil)
        #expect(one.rate("messages.sent", since: two) == nil)
        #expect(three.rate("messages.sent", since: two) == 1)
    }

    @Test func figuresAreNumbersAndTextsByPath() throws {
        let figures = try #require(Figures(json: Array(#"{"a":{"b":[{"c":1},{"c":"x"}]},"d":true,"e":1.5,"f":null}"#.utf8)))
        #expect(figures["a.b.0.c"] == 1)
        #expect(figures.text("a.b.1.c") == "x")
        #expect(figures["d"] == nil && figures["e"] == nil && figures["f"] == nil)
        #expect(Figures(json: Array("[]".utf8)) == nil)
        #expect(Figures(json: Array("{".utf8)) == nil)
    }
}
