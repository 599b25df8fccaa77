import Testing

@testable import Realtime

@Suite struct BusNewsTests {
    private enum Step {
        case up
        case down(String)
        case tick
    }

    /// The lines of steps at these times.
    private static func lines(_ steps: [(Int64, Step)]) -> [BusNews.Line?] {
        var news = BusNews()
        return steps.map { now, step in
            switch step {
            case .up: news.up(at: now)
            case .down(let reason): news.down(reason, at: now)
            case .tick: news.tick(at: now)
            }
        }
    }

    @Test func aSteadyConnectionAndItsLossAreNews() {
        let lines = Self.lines([
            (0, .up), (2_000, .tick), (2_000, .down("a")), (2_100, .up), (9_000, .tick), (9_000, .down("a")), (9_001, .up),
        ])
        #expect(
            lines == [
                .connected, nil, .unavailable(reason: "a"), .connected, nil, .unavailable(reason: "a"), .connected,
            ])
    }

    @Test func aUserWithoutRightsHasOneLineForEachReason() {
        let lines = Self.lines([
            (0, .up), (5, .down("a")), (100, .up), (105, .down("a")), (300, .up), (305, .down("a")), (700, .up),
            (710, .down("b")),
            (900, .up), (905, .down("b")),
        ])
        #expect(
            lines == [
                .connected, .unavailable(reason: "a"), nil, nil, nil, nil, nil, .unavailable(reason: "b"), nil, nil,
            ])
    }

    @Test func reasonsThatTakeTurnsHaveOneLineEach() {
        var news = BusNews()
        var lines: [BusNews.Line] = []
        for number in 0..<100 {
            _ = news.up(at: Int64(number) * 100)
            if let line = news.down("\(number % 3)", at: Int64(number) * 100 + 5) { lines.append(line) }
        }
        #expect(lines == (0..<3).map { .unavailable(reason: "\($0)") })
    }

    @Test func everNewReasonsAreBounded() {
        var news = BusNews()
        _ = news.up(at: 0)
        let lines = (0..<100).compactMap { news.down("\($0)", at: 5) }
        #expect(lines.count == BusNews.reasonsMax)
        #expect(news.up(at: 10) == nil && news.tick(at: 2_010) == .connected && news.down("99", at: 2_020) != nil)
    }

    @Test func aConnectionThatLivesAfterThatIsNews() {
        let lines = Self.lines([
            (0, .up), (5, .down("a")), (100, .up), (2_099, .tick), (2_100, .tick), (2_200, .tick), (3_000, .down("a")),
            (3_100, .up),
        ])
        #expect(
            lines == [
                .connected, .unavailable(reason: "a"), nil, nil, .connected, nil, .unavailable(reason: "a"), .connected,
            ])
    }

    @Test func theLastLineIsNeverWrong() {
        // A short life after a steady one: the same reason must not be left out behind "connected".
        let lines = Self.lines([(0, .up), (5_000, .down("a")), (5_100, .up), (5_200, .down("a")), (5_300, .up), (7_300, .tick)])
        #expect(
            lines == [.connected, .unavailable(reason: "a"), .connected, .unavailable(reason: "a"), nil, .connected])
        #expect(
            Self.lines([(0, .down("a")), (1, .down("b")), (2, .up)]) == [
                .unavailable(reason: "a"), .unavailable(reason: "b"), .connected,
            ])
    }
}
