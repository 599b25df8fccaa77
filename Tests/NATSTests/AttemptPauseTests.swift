import Testing

@testable import NATS

@Suite struct AttemptPauseTests {
    private static func pauses(after lives: [Int64?]) -> [Int64] {
        var pause = AttemptPause()
        return lives.map {
            pause.ended(after: $0)
            return pause.length { $0.upperBound }
        }
    }

    @Test func doublesWhileNoSessionLives() {
        #expect(
            Self.pauses(after: Array(repeating: nil, count: 10))
                == [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 10_000])
        #expect(Self.pauses(after: [nil, 0, 1_999, nil, 1]) == [100, 200, 400, 800, 1_600], "a server that refuses at once")
    }

    @Test func beginsAnewAfterASessionThatLived() {
        #expect(Self.pauses(after: [nil, nil, nil, 2_000, nil, 5, 3_600_000]) == [100, 200, 400, 100, 200, 400, 100])
        #expect(Self.pauses(after: [2_000]) == [100])
    }

    @Test func aRandomPartOfHalfIsLeftOut() {
        var pause = AttemptPause()
        for longest: Int64 in [100, 200, 400] {
            pause.ended(after: nil)
            #expect(pause.length { $0.lowerBound } == longest / 2)
            for _ in 0..<50 { #expect((longest / 2...longest).contains(pause.length())) }
        }
    }
}
