import Primitives

/// Which changes of the connection to the bus get a line of the log. A server that admits the node and ends each connection
/// at once gets one line for each reason, and the connection another one when it has lived for ``Timing/busSettled``.
struct BusNews {
    /// A line of the log.
    enum Line: Equatable {
        case connected
        case unavailable(reason: String)
    }

    /// When the present connection came, in milliseconds.
    private var upSince: Int64?
    /// Whether the last connection has ended soon, so that the next one is no news until it has lived.
    private var isUnsteady = false
    /// The reasons of the lines since a connection has lived, at most ``reasonsMax``: a server may have several, by turns.
    private var toldReasons: Set<String> = []
    /// A server that names ever new reasons gets no more lines until a connection has lived.
    static let reasonsMax = 16

    mutating func up(at now: Int64) -> Line? {
        upSince = now
        guard !isUnsteady else { return nil }
        toldReasons = []
        return .connected
    }

    mutating func down(_ reason: String, at now: Int64) -> Line? {
        if let upSince {
            isUnsteady = now - upSince < Timing.busSettled
            if !isUnsteady { toldReasons = [] }
        }
        upSince = nil
        guard toldReasons.count < Self.reasonsMax, toldReasons.insert(reason).inserted else { return nil }
        return .unavailable(reason: reason)
    }

    /// Lets time pass.
    mutating func tick(at now: Int64) -> Line? {
        guard isUnsteady, let upSince, now - upSince >= Timing.busSettled else { return nil }
        isUnsteady = false
        toldReasons = []
        return .connected
    }
}
