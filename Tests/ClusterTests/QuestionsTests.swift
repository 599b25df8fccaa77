import Testing

@testable import Cluster

@Suite("Questions that wait for answers")
struct QuestionsTests {
    private static let nodes = [Epoch(2), Epoch(1), Epoch(3)]

    @Test("end at once if there is nobody to ask")
    func nobody() {
        var questions = Questions()
        let (ticket, result) = questions.ask([], endsWithFirst: false, at: 0)
        #expect(result == Questions.Result(ticket: ticket, answers: [], isComplete: true))
    }

    @Test("end with the last part of the last answer, in the order of the nodes")
    func parts() {
        var questions = Questions()
        let ticket = questions.ask(Self.nodes, endsWithFirst: false, at: 0).ticket
        #expect(questions.answer(ticket, from: Epoch(2), [4], isLast: false) == nil)
        #expect(questions.answer(ticket, from: Epoch(3), [9], isLast: true) == nil)
        #expect(questions.answer(ticket, from: Epoch(2), [5], isLast: true) == nil)
        let result = questions.answer(ticket, from: Epoch(1), [], isLast: true)
        #expect(result == Questions.Result(ticket: ticket, answers: [[], [4, 5], [9]], isComplete: true))
    }

    @Test("late, repeated and unasked answers change nothing")
    func unasked() {
        var questions = Questions()
        let ticket = questions.ask([Epoch(1), Epoch(2)], endsWithFirst: false, at: 0).ticket
        #expect(questions.answer(ticket, from: Epoch(9), [1], isLast: true) == nil)
        #expect(questions.answer(ticket + 1, from: Epoch(1), [1], isLast: true) == nil)
        #expect(questions.answer(ticket, from: Epoch(1), [1], isLast: true) == nil)
        #expect(questions.answer(ticket, from: Epoch(1), [2], isLast: true) == nil)
        #expect(questions.answer(ticket, from: Epoch(2), [], isLast: true)?.answers == [[1], []])
        #expect(questions.answer(ticket, from: Epoch(2), [3], isLast: true) == nil)
    }

    @Test("end with the first answer that is not empty, if that suffices")
    func firstSuffices() {
        var questions = Questions()
        let ticket = questions.ask(Self.nodes, endsWithFirst: true, at: 0).ticket
        #expect(questions.answer(ticket, from: Epoch(1), [], isLast: true) == nil)
        let result = questions.answer(ticket, from: Epoch(3), [1], isLast: true)
        #expect(result == Questions.Result(ticket: ticket, answers: [[], [1]], isComplete: true))
        #expect(questions.answer(ticket, from: Epoch(2), [1], isLast: true) == nil)
        #expect(questions.tick(at: .max) == [])
    }

    @Test("do not wait for a node that has gone")
    func nodeGone() {
        var questions = Questions()
        let first = questions.ask([Epoch(1), Epoch(2)], endsWithFirst: false, at: 0).ticket
        let second = questions.ask([Epoch(2)], endsWithFirst: false, at: 0).ticket
        #expect(questions.answer(first, from: Epoch(1), [7], isLast: true) == nil)
        #expect(
            questions.remove(Epoch(2), isOrderly: false) == [
                Questions.Result(ticket: first, answers: [[7]], isComplete: true),
                Questions.Result(ticket: second, answers: [], isComplete: true),
            ])
        #expect(questions.remove(Epoch(2), isOrderly: false) == [])
    }

    @Test("end incomplete after a second")
    func deadline() {
        var questions = Questions()
        let ticket = questions.ask(Self.nodes, endsWithFirst: false, at: 50).ticket
        _ = questions.answer(ticket, from: Epoch(2), [1], isLast: true)
        #expect(questions.tick(at: 1_049) == [])
        #expect(questions.tick(at: 1_050) == [Questions.Result(ticket: ticket, answers: [[1]], isComplete: false)])
        #expect(questions.tick(at: 1_051) == [])
    }

    @Test("of the link go to all nodes, and end when the bus goes away")
    func ofTheLink() {
        var fixture = LinkFixture.up([2, 3])
        let question = ClusterQuestion.channels(app: "app", prefix: "")
        let ticket = fixture.link.ask(question, at: 0, &fixture.outputs)
        #expect(fixture.take().published.map(\.subject) == ["c.nodes"])
        fixture.hear(2, .answer(ticket: ticket, isLast: true, [1]), token: ClusterLink.nodeToken, at: 1)
        #expect(fixture.take().answered == [])
        fixture.link.disconnected(&fixture.outputs)
        #expect(fixture.take().answered == [Questions.Result(ticket: ticket, answers: [[1]], isComplete: false)])
        let later = fixture.link.ask(question, at: 2, &fixture.outputs)
        #expect(fixture.take().answered == [Questions.Result(ticket: later, answers: [], isComplete: false)])
    }
}
