import Fleet
import Testing
import Threads

@testable import FleetGateway

/// Stopping to accept commands, and waiting for those that were accepted.
@Suite struct CommandIntakeTests {
    private let intake = CommandIntake()

    private func post(_ result: PostResult = .queued) -> PostResult? { intake.post { result } }

    @Test func closesAtOnceWithoutOpenCommands() {
        #expect(post() == .queued)
        for result in [PostResult.queueFull, .subjectFull] { #expect(post(result) == result) }
        intake.replied(1)
        #expect(intake.close(waiting: 10))
    }

    @Test func closedIntakeAcceptsNothing() {
        #expect(intake.close(waiting: 10))
        #expect(
            intake.post {
                Issue.record("a command was queued")
                return .queued
            } == nil)
    }

    @Test func waitsForTheRepliesOfAllAcceptedCommands() {
        for _ in 0..<3 { #expect(post() == .queued) }
        let intake = intake
        let replies = Thread(name: "replies") {
            while intake.post({ .queueFull }) != nil {}
            intake.replied(1)
            intake.replied(2)
        }
        #expect(intake.close(waiting: 10))
        replies.join()
    }

    @Test func stopsWaitingWhenTheTimeIsOverOrTheDrainIsAborted() {
        #expect(post() == .queued)
        #expect(!intake.close(waiting: 0))
        intake.abort()
        #expect(!intake.close(waiting: 10))
    }
}
