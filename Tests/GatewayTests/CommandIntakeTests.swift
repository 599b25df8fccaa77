import Testing
import Threads

@testable import Gateway

/// Stopping to accept commands, and waiting for those that were accepted.
@Suite struct CommandIntakeTests {
    private let intake = CommandIntake()

    private func post(isQueued: Bool = true) -> CommandIntake.PostResult { intake.post { isQueued } }

    @Test func closesAtOnceWithoutOpenCommands() {
        #expect(post() == .queued)
        #expect(post(isQueued: false) == .full)
        intake.replied(1)
        #expect(intake.close(waiting: 600))
    }

    @Test func closedIntakeAcceptsNothing() {
        #expect(intake.close(waiting: 600))
        #expect(
            intake.post {
                Issue.record("a command was queued")
                return true
            } == .draining)
    }

    @Test func waitsForTheRepliesOfAllAcceptedCommands() {
        for _ in 0..<3 { #expect(post() == .queued) }
        let intake = intake
        let replies = Thread(name: "replies") {
            while intake.post({ false }) != .draining {}
            intake.replied(1)
            intake.replied(2)
        }
        #expect(intake.close(waiting: 600))
        replies.join()
    }

    @Test func stopsWaitingWhenTheTimeIsOverOrTheDrainIsAborted() {
        #expect(post() == .queued)
        #expect(!intake.close(waiting: 0))
        intake.abort()
        #expect(!intake.close(waiting: 600))
    }
}
