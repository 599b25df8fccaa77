import Fleet
import Testing

@testable import FleetGateway

/// Which notifications are known to be written.
@Suite struct PublicationRoundsTests {
    private var rounds = PublicationRounds()

    private func published(_ position: String?, _ recovered: String...) -> Published {
        var published = Published()
        published.position = position
        published.recovered = recovered
        return published
    }

    @Test mutating func nothingIsConfirmedBeforeEveryLoopHasWrittenIt() {
        rounds.add(position: "1")
        #expect(rounds.begin(at: 0, loopCount: 2) == true)
        #expect(rounds.takeConfirmed() == Published())
        rounds.confirm(loop: 1)
        rounds.confirm(loop: 1)
        #expect(rounds.takeConfirmed() == Published())
        rounds.confirm(loop: 0)
        #expect(rounds.takeConfirmed() == published("1"))
        #expect(rounds.takeConfirmed() == Published())
    }

    @Test mutating func roundDoesNotConfirmWhatIsPublishedAfterItsBeginning() {
        rounds.add(position: "1")
        #expect(rounds.begin(at: 0, loopCount: 2) == true)
        rounds.add(position: "2")
        rounds.add(recovered: "0")
        #expect(rounds.begin(at: 1_000, loopCount: 2) == false)
        for loop in 0..<2 { rounds.confirm(loop: loop) }
        #expect(rounds.takeConfirmed() == published("1"))
        #expect(rounds.begin(at: 1_000, loopCount: 2) == true)
        for loop in 0..<2 { rounds.confirm(loop: loop) }
        #expect(rounds.takeConfirmed() == published("2", "0"))
    }

    @Test mutating func resultsOfSeveralRoundsAreAdded() {
        for number in 1...3 {
            rounds.add(position: "\(number)")
            rounds.add(recovered: "r\(number)")
            #expect(rounds.begin(at: Int64(number) * 10, loopCount: 2) == true)
            for loop in 0..<2 { rounds.confirm(loop: loop) }
        }
        #expect(rounds.takeConfirmed() == published("3", "r1", "r2", "r3"))
    }

    @Test mutating func roundsAreTenMillisecondsApartAndHaveSomethingToConfirm() {
        #expect(rounds.begin(at: 0, loopCount: 2) == false)
        rounds.add(position: "1")
        #expect(rounds.begin(at: 5, loopCount: 2) == true)
        for loop in 0..<2 { rounds.confirm(loop: loop) }
        #expect(rounds.begin(at: 100, loopCount: 2) == false)
        rounds.add(position: "2")
        #expect(rounds.begin(at: 14, loopCount: 2) == false)
        #expect(rounds.begin(at: 15, loopCount: 2) == true)
    }

    @Test mutating func endConfirmsAll() {
        rounds.add(position: "1")
        #expect(rounds.begin(at: 0, loopCount: 2) == true)
        rounds.add(position: "2")
        rounds.end()
        #expect(rounds.takeConfirmed() == published("2"))
        rounds.confirm(loop: 0)
        #expect(rounds.takeConfirmed() == Published())
    }
}
