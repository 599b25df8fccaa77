import Testing

@testable import Realtime

@Suite struct EpisodeTests {
    @Test func beginsOnceForRepetitionsAtShortIntervals() {
        var episode = Episode()
        #expect(episode.begins(at: 100) == true)
        for second in [100, 101, 111, 121, 131] { #expect(episode.begins(at: second) == false) }
    }

    @Test func beginsAgainAfterAQuietTime() {
        var episode = Episode()
        #expect(episode.begins(at: 100) == true)
        #expect(episode.begins(at: 111) == true)
        #expect(episode.begins(at: 121) == false)
    }

    @Test func continuesWhileTheConditionHolds() {
        var episode = Episode()
        #expect(episode.begins(at: 0) == true)
        for second in 1...60 { episode.continues(at: second) }
        #expect(episode.begins(at: 70) == false)
    }

    @Test func aConditionThatOnlyHoldsBeginsNoEpisode() {
        var episode = Episode()
        episode.continues(at: 0)
        #expect(episode.begins(at: 1) == true)
        episode.continues(at: 20)  // over since second 12
        #expect(episode.begins(at: 21) == true)
    }
}
