import Glibc

/// What a request is for.
enum Purpose {
    /// Publishes an event.
    case publish(Int)
    /// Gets the signature of a subscriber's subscription.
    case authorize(Int)
    /// Accepts an event's order as its driver.
    case accept(Int)
    /// Ends an event's order.
    case end(Int)
    /// Reads the gateway's metrics.
    case figures
}

/// A request that waits, or that is under way.
struct Request {
    let purpose: Purpose
    let bytes: [UInt8]
    /// When it should have been sent: its latency counts from here.
    let due: UInt64
}

/// The result of a request.
enum RequestResult {
    case response(ResponseReader.Response)
    /// There is no response; the text says why.
    case failure(String)
}

/// One kept-alive HTTP connection, which sends one request at a time. It connects when it has something to send.
final class Requester {
    /// After so many nanoseconds without a response, a request has failed.
    static let timeout: UInt64 = 10_000_000_000

    let tag: Int
    private var link: Link?
    private var reader = ResponseReader()
    private var current: Request?
    private var sentAt: UInt64 = 0

    init(tag: Int) { self.tag = tag }

    var isIdle: Bool { current == nil }
    var isConnected: Bool { link != nil }

    /// - Returns: what became of the request, if it has failed at once.
    func send(
        _ request: Request, to address: GatewayAddress, _ context: OpaquePointer?, _ poller: Poller, at now: UInt64
    ) -> RequestResult? {
        if link == nil {
            reader = ResponseReader()
            do throws(Link.Failure) {
                link = try Link(to: address, context: context, poller: poller, tag: tag)
            } catch { return .failure(error.reason) }
        }
        current = request
        sentAt = now
        link?.send(request.bytes)
        link?.updateWatch(poller, tag: tag)
        return nil
    }

    /// Does what the socket is ready for.
    /// - Returns: the request that has ended.
    func advance(
        _ ready: Poller.Event, _ buffer: UnsafeMutableRawBufferPointer, _ poller: Poller
    ) -> (Request, RequestResult)? {
        guard let link else { return nil }
        if ready.isWritable, let problem = link.becomeWritable() { return fail(problem) }
        defer { if self.link != nil { link.updateWatch(poller, tag: tag) } }
        guard ready.isReadable else { return nil }
        while true {
            switch link.receive(into: buffer) {
            case .nothing: return nil
            case .ended(let reason): return fail(reason)
            case .bytes(let count):
                do throws(ResponseReader.Failure) {
                    let received = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                    guard let response = try reader.read(received) else { continue }
                    if response.closesConnection { self.link = nil }
                    return current.take().map { ($0, .response(response)) }
                } catch { return fail(error.reason) }
            }
        }
    }

    /// Gives up a request that has waited too long for its response.
    func timeOut(at now: UInt64) -> (Request, RequestResult)? {
        current != nil && now > sentAt + Self.timeout ? fail("timed out") : nil
    }

    /// Closes the connection.
    func close() { link = nil }

    private func fail(_ reason: String) -> (Request, RequestResult)? {
        link = nil
        return current.take().map { ($0, .failure(reason)) }
    }
}
