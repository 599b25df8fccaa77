import CCurl
import Glibc

/// libcurl's multi interface: many requests over few connections, driven by the thread that owns the pool.
///
/// HTTP/2 over TLS if the server supports it (ALPN), else HTTP/1.1. Redirects are not followed, certificates are
/// verified. No cookies, no credentials, and by default no proxies.
///
/// The pool has its own time-outs: libcurl's do not apply to a request that waits for room on a connection.
package final class HTTPPool {
    package struct Options: Sendable {
        /// Connections to one host and port (1…).
        package var connectionsPerHost = 2
        /// Concurrent requests on one connection, if the server allows as many (1…).
        package var streamsPerConnection = 1_000
        /// For the whole request, from ``start(_:tag:allowsPrivateAddresses:isFirst:)``.
        package var timeoutMilliseconds = 10_000
        /// Seconds after which an idle connection is not reused.
        package var idleSecondsMax = 3_600
        /// A PEM file to trust instead of the system's certificates; empty: the system's.
        package var caFile = ""
        /// False: the pool refuses connections to private, loopback, link-local, multicast and unspecified addresses,
        /// by the address that a name resolves to.
        package var allowsPrivateAddresses = true
        /// False: only https.
        package var allowsPlainHTTP = false
        /// True: requests are not sent to servers without HTTP/2. While a new connection has received no response,
        /// every connection of the pool gets one request at a time: APNs allows no more before it has accepted a token.
        /// Use it for a pool of one upstream.
        package var requiresHTTP2 = false
        /// Bytes of a connection's send buffer, if the system allows as many. The pool starts only as many requests as
        /// fit (see ``SendBufferBudget``), whichever connection they will use: a slow one delays all. Nil: the system's
        /// size, and requests start at once.
        package var sendBufferBytes: Int?
        /// Bytes kept of a response's body. The rest is read and discarded: the server has processed the request.
        package var responseBytesMax = 65_536
        /// True: a longer body fails the request instead.
        package var rejectsLargerResponses = false
        /// True: the environment's proxies are used.
        package var usesProxy = false

        package init() {}
    }

    /// A request that has ended.
    package struct Completion: Sendable {
        /// The tag of ``start(_:tag:allowsPrivateAddresses:isFirst:)``.
        package let tag: Int
        package let result: Result<HTTPClientResponse, HTTPClientError>
        /// Between ``start(_:tag:allowsPrivateAddresses:isFirst:)`` and the end.
        package let seconds: Double
    }

    /// Ends ``wait(milliseconds:)`` from other threads.
    package let waker = Waker()

    private let options: Options
    private var multi: UnsafeMutableRawPointer
    /// All handles; never removed.
    private var handles: [EasyHandle] = []
    private var idle: [EasyHandle] = []
    private var deadlines = Deadlines()
    private let handshaking = ConnectionsInHandshake()
    private let buffers: SendBufferBudget
    /// Requests not yet added to libcurl, in the order of their start.
    private var queued: [TimedRequest] = []
    /// Requests added to libcurl that were not completely written at the last ``perform()``.
    private var uploading: [TimedRequest] = []
    private var streamsPerConnection = 0
    /// Requests that libcurl was working on at the last `curl_multi_perform`.
    private var running: Int32 = 0
    /// Requests that cannot be written as HTTP: failed before libcurl got them.
    private var invalid: [Completion] = []

    package init(_ options: Options) {
        self.options = options
        buffers = SendBufferBudget(bytesEach: options.sendBufferBytes)
        multi = Self.newMulti(options)
        limitStreams()
    }

    deinit {
        // A handle must be removed from its multi handle before either is freed.
        while let (handle, _) = deadlines.next() {
            curl_multi_remove_handle(multi, handle.easy)
            handle.end()
        }
        curl_multi_cleanup(multi)
    }

    /// Requests that have not ended.
    package var inFlight: Int { handles.count - idle.count + invalid.count }

    /// Starts a request.
    /// - Parameters:
    ///   - tag: identifies the request; unique among those in flight.
    ///   - allowsPrivateAddresses: overrides the option for this request; nil: the option. A request that does not
    ///     allow them does not reuse a connection to a private address either.
    ///   - isFirst: the request goes before those that wait for room.
    package func start(_ request: HTTPClientRequest, tag: Int, allowsPrivateAddresses: Bool? = nil, isFirst: Bool = false) {
        let now = ContinuousClock.now
        let handle = idle.popLast() ?? newHandle()
        do throws(HTTPClientError) {
            try handle.begin(
                request, tag: tag, allowsPrivateAddresses: allowsPrivateAddresses ?? options.allowsPrivateAddresses, at: now)
        } catch {
            idle.append(handle)
            invalid.append(Completion(tag: tag, result: .failure(error), seconds: 0))
            return
        }
        deadlines.append(handle, at: now.advanced(by: .milliseconds(options.timeoutMilliseconds)))
        queued.insert(TimedRequest(handle), at: isFirst ? 0 : queued.count)
    }

    /// Reads and writes without blocking. Returns the requests that have ended.
    package func perform() -> [Completion] {
        admit()
        // Its error, if any, concerns no single request, and each request has its deadline.
        curl_multi_perform(multi, &running)
        var completions = drainFinished()
        let now = ContinuousClock.now
        while let (handle, deadline) = deadlines.next(), deadline <= now {
            let result = handle.result(ifWritten: .timedOut, otherwise: "no connection was ready within the time-out")
            completions.append(end(handle, result, at: now))
        }
        limitStreams()
        return completions
    }

    /// Blocks until a socket is ready, ``Waker/wake()``, or the time is over.
    ///
    /// With many requests in flight it always sleeps some milliseconds first: libcurl visits all of them in each
    /// `curl_multi_perform` (about 1 µs each), so that one call should handle several responses.
    package func wait(milliseconds: Int) {
        batchWakeUps(milliseconds: milliseconds)
        var limit = invalid.isEmpty ? milliseconds : 0
        // A send buffer that drains makes room for queued requests, and causes no event.
        if !queued.isEmpty { limit = min(limit, 2) }
        // libcurl may hold bytes read from TLS that it has not processed; the socket does not become ready for them.
        if inFlight > 0 { limit = min(limit, 1_000) }
        if let (_, deadline) = deadlines.next() {
            // Rounded up: a wait that ends before the deadline would be repeated many times without sleeping.
            limit = min(limit, Int(ContinuousClock.now.duration(to: deadline) / .milliseconds(1)) + 1)
        }
        var wake = curl_waitfd(fd: waker.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        curl_multi_poll(multi, &wake, 1, Int32(clamping: max(limit, 0)), nil)
        waker.reset()
    }

    /// Sleeps ten times as long as libcurl takes to visit all requests, at most 10 ms: with a thousand in flight, a
    /// `curl_multi_perform` per response would cost more than everything else. Only batches wake-ups; correctness does
    /// not depend on it.
    private func batchWakeUps(milliseconds: Int) {
        let microseconds = min(inFlight * 10, 10_000, milliseconds * 1_000)
        if microseconds >= 500 { usleep(UInt32(microseconds)) }
    }

    /// Removes those of the requests that are not written yet. Returns their tags; they get no ``Completion``.
    package func withdraw(_ tags: Set<Int>) -> [Int] {
        let unwritten = handles.filter { $0.isBusy && !$0.wasWritten && tags.contains($0.tag) }
        for handle in unwritten { discard(handle) }
        return unwritten.map(\.tag)
    }

    /// Closes all connections and ends all requests: as `.lost` or, if they were not written, as `.notSent`. The next
    /// request opens a new connection and resolves the host's name again.
    package func retire() -> [Completion] {
        var completions = drainFinished()
        let now = ContinuousClock.now
        let text = "all connections were closed"
        while let (handle, _) = deadlines.next() {
            completions.append(end(handle, handle.result(ifWritten: .lost(text), otherwise: text), at: now))
        }
        queued = []
        uploading = []
        running = 0
        curl_multi_cleanup(multi)
        multi = Self.newMulti(options)
        streamsPerConnection = 0
        limitStreams()
        return completions
    }

    /// Adds as many queued requests to libcurl as the send buffers have room for.
    private func admit() {
        uploading.removeAll { $0.hasEnded || $0.handle.completeUpload() }
        guard !queued.isEmpty else { return }
        let room = buffers.room()
        var admitted = 0
        for request in queued {
            if !request.hasEnded {
                let isAlone = running == 0 && buffers.reserved == 0
                guard request.handle.reserve(within: room - buffers.reserved, isAlone: isAlone) else { break }
                // Fails only without memory, or if the handle is already added.
                let result = curl_multi_add_handle(multi, request.handle.easy)
                precondition(result == CURLM_OK, "curl_multi_add_handle: \(String(cString: curl_multi_strerror(result)))")
                uploading.append(request)
            }
            admitted += 1
        }
        queued.removeFirst(admitted)
    }

    /// The requests that libcurl has finished, and the invalid ones.
    private func drainFinished() -> [Completion] {
        // All messages first: removing a handle searches the unread messages.
        var finished: [(handle: EasyHandle, code: CURLcode)] = []
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            finished.append((EasyHandle.owner(of: easy), message.pointee.data.result))
        }
        var completions = invalid
        invalid = []
        guard !finished.isEmpty else { return completions }
        let now = ContinuousClock.now
        completions.reserveCapacity(completions.count + finished.count)
        for (handle, code) in finished { completions.append(end(handle, handle.result(code), at: now)) }
        return completions
    }

    private func end(
        _ handle: EasyHandle, _ result: Result<HTTPClientResponse, HTTPClientError>, at now: ContinuousClock.Instant
    ) -> Completion {
        defer { discard(handle) }
        return Completion(tag: handle.tag, result: result, seconds: handle.seconds(at: now))
    }

    private func discard(_ handle: EasyHandle) {
        curl_multi_remove_handle(multi, handle.easy)
        handle.end()
        idle.append(handle)
    }

    /// Sets libcurl's limit of concurrent requests on a connection: 1 while a connection is in handshake, see
    /// ``Options/requiresHTTP2``.
    private func limitStreams() {
        let limit = options.requiresHTTP2 && handshaking.count > 0 ? 1 : options.streamsPerConnection
        guard limit != streamsPerConnection else { return }
        streamsPerConnection = limit
        ccurl_set_multi_number(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, limit)
    }

    private func newHandle() -> EasyHandle {
        let handle = EasyHandle(options, handshaking, buffers)
        handles.append(handle)
        return handle
    }

    private static func newMulti(_ options: Options) -> UnsafeMutableRawPointer {
        guard let multi = curl_multi_init() else { preconditionFailure("curl_multi_init: out of memory") }
        ccurl_set_multi_number(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        ccurl_set_multi_number(multi, CURLMOPT_MAX_HOST_CONNECTIONS, options.connectionsPerHost)
        // The default is four per request in flight: with few in flight it would close connections that the next burst
        // needs.
        ccurl_set_multi_number(multi, CURLMOPT_MAXCONNECTS, max(64, options.connectionsPerHost))
        return multi
    }
}
