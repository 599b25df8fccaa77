import Primitives

/// Questions to other nodes that wait for their answers.
package struct Questions: Sendable {
    /// What became of a question.
    package struct Result: Equatable, Sendable {
        package let ticket: UInt64
        /// The answers, in the order of the nodes' epochs.
        package let answers: [[UInt8]]
        /// Whether all nodes that were asked have answered.
        package let isComplete: Bool
    }

    private struct Question {
        var waiting: Set<Epoch>
        var answers: [Epoch: [UInt8]] = [:]
        let deadline: Int64
        /// The first answer that is not empty ends the wait.
        let endsWithFirst: Bool
        /// Whether a node that cannot be asked may have the answer that suffices: without it, the result is incomplete.
        var mayBeElsewhere: Bool
    }

    private var questions: [UInt64: Question] = [:]
    private var lastTicket: UInt64 = 0

    /// - Parameters:
    ///   - endsWithFirst: whether the first answer that is not empty suffices.
    ///   - haveAllBeenAsked: whether no other node may have that answer.
    /// - Returns: the question's ticket, and its result if there is nobody to ask.
    mutating func ask(
        _ nodes: [Epoch], endsWithFirst: Bool, haveAllBeenAsked: Bool = true, at now: Int64
    ) -> (ticket: UInt64, Result?) {
        lastTicket += 1
        let ticket = lastTicket
        let mayBeElsewhere = endsWithFirst && !haveAllBeenAsked
        guard !nodes.isEmpty else { return (ticket, Result(ticket: ticket, answers: [], isComplete: !mayBeElsewhere)) }
        questions[ticket] = Question(
            waiting: Set(nodes), deadline: now + Timing.questionPatience, endsWithFirst: endsWithFirst,
            mayBeElsewhere: mayBeElsewhere)
        return (ticket, nil)
    }

    /// A part of an answer has come.
    mutating func answer(_ ticket: UInt64, from node: Epoch, _ content: ArraySlice<UInt8>, isLast: Bool) -> Result? {
        guard questions[ticket]?.waiting.contains(node) == true else { return nil }
        questions[ticket]?.answers[node, default: []] += content
        guard isLast else { return nil }
        questions[ticket]?.waiting.remove(node)
        guard let question = questions[ticket] else { return nil }
        let suffices = question.endsWithFirst && !content.isEmpty
        return suffices || question.waiting.isEmpty ? end(ticket, isComplete: true) : nil
    }

    /// A node has gone: nobody waits for it any longer.
    /// - Parameter isOrderly: whether what it had is certainly gone as well.
    mutating func remove(_ node: Epoch, isOrderly: Bool) -> [Result] {
        questions.keys.sorted().compactMap { ticket in
            guard questions[ticket]?.waiting.remove(node) != nil else { return nil }
            if questions[ticket]?.endsWithFirst == true, !isOrderly { questions[ticket]?.mayBeElsewhere = true }
            guard questions[ticket]?.waiting.isEmpty == true else { return nil }
            return end(ticket, isComplete: true)
        }
    }

    /// Ends the questions whose time is over.
    mutating func tick(at now: Int64) -> [Result] {
        questions.filter { $0.value.deadline <= now }.keys.sorted().compactMap { end($0, isComplete: false) }
    }

    private mutating func end(_ ticket: UInt64, isComplete: Bool) -> Result? {
        guard let question = questions.removeValue(forKey: ticket) else { return nil }
        let answers = question.answers.sorted { $0.key.value < $1.key.value }.map(\.value)
        let isFound = !question.mayBeElsewhere || answers.contains { !$0.isEmpty }
        return Result(ticket: ticket, answers: answers, isComplete: isComplete && isFound)
    }
}
