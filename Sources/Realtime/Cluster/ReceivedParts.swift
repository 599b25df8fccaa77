import Primitives

/// Puts the parts of long messages together, by sender.
struct ReceivedParts {
    /// A longer message is discarded.
    static let bytesMax = 1 << 26

    private struct Incomplete {
        let number: UInt64
        var count = 0
        var bytes: [UInt8] = []
        var at: Int64
    }

    private var incomplete: [Epoch: Incomplete] = [:]

    /// - Parameters:
    ///   - number: the message's, of which this is a part.
    ///   - now: milliseconds.
    /// - Returns: the whole message, with its last part; nil if a part is missing, or the message is too long.
    mutating func receive(
        _ part: ArraySlice<UInt8>, of number: UInt64, index: Int, isLast: Bool, from sender: Epoch, at now: Int64
    ) -> [UInt8]? {
        var message = incomplete.removeValue(forKey: sender)
        if index == 0 { message = Incomplete(number: number, at: now) }
        guard var message, message.number == number, message.count == index,
            message.bytes.count + part.count <= Self.bytesMax
        else { return nil }
        message.bytes += part
        (message.count, message.at) = (index + 1, now)
        if isLast { return message.bytes }
        incomplete[sender] = message
        return nil
    }

    mutating func tick(at now: Int64) {
        if !incomplete.isEmpty { incomplete = incomplete.filter { now - $0.value.at < Timing.messagePartPatience } }
    }

    mutating func forget(_ sender: Epoch) { incomplete[sender] = nil }

    mutating func forgetAll() { incomplete = [:] }
}
