/// Questions to other nodes that wait for their answers.
package struct Questions: Sendable {
    /// How long an answer may take, in milliseconds.
    package static let patience: Int64 = 1_000

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
    }

    private var questions: [UInt64: Question] = [:]
    private var lastTicket: UInt64 = 0

    /// - Parameter endsWithFirst: whether the first answer that is not empty suffices.
    /// - Returns: the question's ticket, and its result if there is nobody to ask.
    mutating func ask(_ nodes: [Epoch], endsWithFirst: Bool, at now: Int64) -> (ticket: UInt64, Result?) {
        lastTicket += 1
        let ticket = lastTicket
        guard !nodes.isEmpty else { return (ticket, Result(ticket: ticket, answers: [], isComplete: true)) }
        questions[ticket] = Question(waiting: Set(nodes), deadline: now + Self.patience, endsWithFirst: endsWithFirst)
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

    /// A node has gone: nobody waits for it any longer. What it had is gone as well.
    mutating func remove(_ node: Epoch) -> [Result] {
        questions.keys.sorted().compactMap { ticket in
            guard questions[ticket]?.waiting.remove(node) != nil, questions[ticket]?.waiting.isEmpty == true else { return nil }
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
        return Result(ticket: ticket, answers: answers, isComplete: isComplete)
    }
}
