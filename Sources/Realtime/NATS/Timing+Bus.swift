import Primitives

/// The constants of time of a connection to the bus.
extension Timing {
    /// The longest time that connecting to one address of a bus server takes.
    static let busConnectMax = milliseconds(2_000)
    /// A bus server that takes no byte for so long is given up.
    static let busStallMax = milliseconds(500)
    /// A connection to the bus that has lived for so long works: it is connected again at once, and its loss is news.
    package static let busSettled = milliseconds(2_000)
    /// How often a node asks the bus whether it answers.
    static let busFlushInterval = milliseconds(1_000)
}
