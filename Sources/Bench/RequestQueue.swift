import Primitives

/// Sends requests over several kept-alive connections, each with one request under way.
final class RequestQueue {
    private let address: GatewayAddress
    private let context: OpaquePointer?
    private let poller: Poller
    private let requesters: [Requester]
    private let firstTag: Int
    /// The connections without a request. The last one was used last, so few of them stay in use at a low rate.
    private var idle: [Int]
    private var waiting = FIFO<Request>()

    /// - Parameters:
    ///   - count: the number of connections.
    ///   - firstTag: their tags for the poller begin here.
    init(count: Int, firstTag: Int, _ address: GatewayAddress, _ context: OpaquePointer?, _ poller: Poller) {
        (self.address, self.context, self.poller, self.firstTag) = (address, context, poller, firstTag)
        requesters = (0..<count).map { Requester(tag: firstTag + $0) }
        idle = Array((0..<count).reversed())
    }

    /// Whether a request can be sent now.
    var hasIdle: Bool { !idle.isEmpty }
    /// Whether no request waits or is under way.
    var isEmpty: Bool { waiting.isEmpty && idle.count == requesters.count }

    /// Adds a request, which waits for ``pump(at:_:)``.
    func append(_ request: Request) { waiting.append(request) }

    /// Sends the requests that wait, as far as there are connections.
    func pump(at now: UInt64, _ settle: (Request, RequestResult) -> Void) {
        while hasIdle, let request = waiting.popFirst() { send(request, at: now, settle) }
    }

    /// Sends a request at once. There must be an idle connection.
    /// - Parameter settle: takes the result, if the request fails at once.
    func send(_ request: Request, at now: UInt64, _ settle: (Request, RequestResult) -> Void) {
        guard let index = idle.popLast() else { preconditionFailure("no connection is idle") }
        if let result = requesters[index].send(request, to: address, context, poller, at: now) {
            idle.append(index)
            settle(request, result)
        }
    }

    /// Does what a connection is ready for.
    func advance(
        _ event: Poller.Event, _ buffer: UnsafeMutableRawBufferPointer, _ settle: (Request, RequestResult) -> Void
    ) {
        let index = event.tag - firstTag
        guard let (request, result) = requesters[index].advance(event, buffer, poller) else { return }
        idle.append(index)
        settle(request, result)
    }

    /// Gives up requests that have waited too long for their responses.
    func timeOut(at now: UInt64, _ settle: (Request, RequestResult) -> Void) {
        for (index, requester) in requesters.enumerated() {
            guard let (request, result) = requester.timeOut(at: now) else { continue }
            idle.append(index)
            settle(request, result)
        }
    }

    func close() {
        for requester in requesters { requester.close() }
    }
}
