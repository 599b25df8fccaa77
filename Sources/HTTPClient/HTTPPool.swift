import CCurl
import Glibc

/// libcurl's multi interface: many requests at once over few connections, driven by the one thread that owns it.
///
/// HTTP/2 over TLS where the server speaks it (ALPN), HTTP/1.1 elsewhere. Redirects are not followed, certificates are
/// verified, proxies of the environment are not used. Cookies and credentials are nobody's.
///
/// Time-outs are the pool's own: libcurl's do not reach a request that waits for a connection to have room for it.
package final class HTTPPool {
    package struct Options: Sendable {
        /// Connections to one host and port (1…).
        package var connectionsPerHost = 2
        /// Requests at once on one connection, if the server allows as many (1…).
        package var streamsPerConnection = 1_000
        /// For everything together, from the moment a request is started.
        package var timeoutMilliseconds = 10_000
        /// Seconds for which an idle connection may be used again.
        package var idleSecondsMax = 3_600
        /// A PEM file to trust instead of the system's; empty: the system's.
        package var caFile = ""
        /// False: connections to private, loopback, link-local, multicast and unspecified addresses are refused when they
        /// are about to be made, whatever name led to them.
        package var allowsPrivateAddresses = true
        /// False: only https.
        package var allowsPlainHTTP = false
        /// True: a server that does not speak HTTP/2 is no server (prior to any request being sent to it), and of what
        /// waits for a new connection one request goes ahead: until it is answered, or fails, every connection of the
        /// pool is given one at a time. APNs allows no more before it has seen a good token, so this is for a pool of
        /// one upstream.
        package var requiresHTTP2 = false
        /// Bytes of a connection's send buffer, if the system allows as many. No more requests are begun at once than fit (see
        /// ``SendBufferBudget``), whichever connection they will go over: so a slow one holds up all. Nil: as the system has it, and
        /// everything is begun at once.
        package var sendBufferBytes: Int?
        /// Bytes of an answer's body that are kept. More is read and thrown away: what the server has done, it has done.
        package var responseBytesMax = 65_536

        package init() {}
    }

    /// A request that has come to its end.
    package struct Completion: Sendable {
        /// What ``start(_:tag:allowsPrivateAddresses:)`` was given.
        package let tag: Int
        package let result: Result<HTTPClientResponse, HTTPClientError>
        /// From the start to the end.
        package let seconds: Double
    }

    package let waker = Waker()

    private let options: Options
    private var multi: UnsafeMutableRawPointer
    /// All that were ever needed at once.
    private var handles: [EasyHandle] = []
    private var idle: [EasyHandle] = []
    private var deadlines = Deadlines()
    private let handshaking = ConnectionsInHandshake()
    private let buffers: SendBufferBudget
    /// Those that libcurl has not been given yet, in the order of their start.
    private var queued: [TimedRequest] = []
    /// Those that it has been given, and that were not written to their end when last looked at.
    private var uploading: [TimedRequest] = []
    private var streamsPerConnection = 0
    /// Requests that libcurl was busy with when it was last asked.
    private var running: Int32 = 0
    /// Those that libcurl never heard of.
    private var refused: [Completion] = []

    package init(_ options: Options) {
        self.options = options
        buffers = SendBufferBudget(bytesEach: options.sendBufferBytes)
        multi = Self.newMulti(options)
        limitStreams()
    }

    deinit {
        // A handle must leave its multi handle before either is freed.
        while let (exchange, _) = deadlines.next() {
            curl_multi_remove_handle(multi, exchange.easy)
            exchange.end()
        }
        curl_multi_cleanup(multi)
    }

    /// Requests that have not come to their end.
    package var inFlight: Int { handles.count - idle.count + refused.count }

    /// Begins a request. `tag` is the caller's, and no other request's in flight.
    /// - Parameters:
    ///   - allowsPrivateAddresses: overrides the option for this one; nil: as the option says. A connection that a call which
    ///     allows them left open serves none that does not.
    ///   - isFirst: it goes before those that wait for room.
    package func start(_ call: HTTPClientRequest, tag: Int, allowsPrivateAddresses: Bool? = nil, isFirst: Bool = false) {
        let now = ContinuousClock.now
        let exchange = idle.popLast() ?? newHandle()
        do throws(HTTPClientError) {
            try exchange.begin(
                call, tag: tag, allowsPrivateAddresses: allowsPrivateAddresses ?? options.allowsPrivateAddresses, at: now)
        } catch {
            idle.append(exchange)
            refused.append(Completion(tag: tag, result: .failure(error), seconds: 0))
            return
        }
        deadlines.append(exchange, at: now.advanced(by: .milliseconds(options.timeoutMilliseconds)))
        queued.insert(TimedRequest(exchange), at: isFirst ? 0 : queued.count)
    }

    /// Reads and writes what can be, and answers what has come to its end.
    package func perform() -> [Completion] {
        admit()
        // What could fail here is told by no request; each has its deadline.
        curl_multi_perform(multi, &running)
        var completions = takeFinished()
        let now = ContinuousClock.now
        while let (exchange, deadline) = deadlines.next(), deadline <= now {
            let result = exchange.result(after: .timedOut, otherwise: "no connection was ready for it in time")
            completions.append(end(exchange, result, at: now))
        }
        limitStreams()
        return completions
    }

    /// Sleeps until something can be read or written, somebody wakes it, or the time is over.
    ///
    /// With many requests in flight it sleeps for some milliseconds whatever happens: libcurl goes through all of them each
    /// time it is asked (about 1 µs each), so the news of several is let come together.
    package func wait(milliseconds: Int) {
        rest(milliseconds: milliseconds)
        var limit = refused.isEmpty ? milliseconds : 0
        // What the kernel has sent makes room for more, and nobody tells.
        if !queued.isEmpty { limit = min(limit, 2) }
        // libcurl may have read more from TLS than it has passed on, of which the socket says nothing.
        if inFlight > 0 { limit = min(limit, 1_000) }
        if let (_, deadline) = deadlines.next() {
            // Rounded up: a wait that ends too early would be followed by many that do not wait.
            limit = min(limit, Int(ContinuousClock.now.duration(to: deadline) / .milliseconds(1)) + 1)
        }
        var wake = curl_waitfd(fd: waker.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        curl_multi_poll(multi, &wake, 1, Int32(clamping: max(limit, 0)), nil)
        waker.reset()
    }

    /// Ten times as long as libcurl takes to go through what is in flight, if that is worth a sleep at all: with a thousand
    /// under way, asking for each answer as it comes would cost more than all the rest. Nothing waits on this for a fact.
    private func rest(milliseconds: Int) {
        let microseconds = min(inFlight * 10, 10_000, milliseconds * 1_000)
        if microseconds >= 500 { usleep(UInt32(microseconds)) }
    }

    /// Takes back, of some requests, those that are not written yet; answers their tags. They come to no other end.
    package func withdraw(_ tags: Set<Int>) -> [Int] {
        let unwritten = handles.filter { $0.isBusy && !$0.wasWritten && tags.contains($0.tag) }
        for exchange in unwritten { discard(exchange) }
        return unwritten.map(\.tag)
    }

    /// Throws all connections away, with all that is in flight: it ends as `.lost` or, if it never left, `.notSent`.
    /// The next request begins with a new connection, and with the host's name resolved anew.
    package func retire() -> [Completion] {
        var completions = takeFinished()
        let now = ContinuousClock.now
        let words = "its connection was given up"
        while let (exchange, _) = deadlines.next() {
            completions.append(end(exchange, exchange.result(after: .lost(words), otherwise: words), at: now))
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

    /// Gives libcurl as many of those that wait as the connections have room for.
    private func admit() {
        uploading.removeAll { $0.hasEnded || $0.handle.hasLeft() }
        guard !queued.isEmpty else { return }
        let room = buffers.room()
        var taken = 0
        for request in queued {
            if !request.hasEnded {
                let isAlone = running == 0 && buffers.reserved == 0
                guard request.handle.reserve(within: room - buffers.reserved, isAlone: isAlone) else { break }
                // Nothing but memory or a handle that is there already could be wrong.
                let result = curl_multi_add_handle(multi, request.handle.easy)
                precondition(result == CURLM_OK, "curl_multi_add_handle: \(String(cString: curl_multi_strerror(result)))")
                uploading.append(request)
            }
            taken += 1
        }
        queued.removeFirst(taken)
    }

    /// What libcurl has done with, and what it never got.
    private func takeFinished() -> [Completion] {
        // All messages first: a handle that leaves is looked for among those that are still to be read.
        var finished: [(exchange: EasyHandle, code: CURLcode)] = []
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            finished.append((EasyHandle.busy(with: easy), message.pointee.data.result))
        }
        var completions = refused
        refused = []
        guard !finished.isEmpty else { return completions }
        let now = ContinuousClock.now
        completions.reserveCapacity(completions.count + finished.count)
        for (exchange, code) in finished { completions.append(end(exchange, exchange.result(code), at: now)) }
        return completions
    }

    private func end(
        _ exchange: EasyHandle, _ result: Result<HTTPClientResponse, HTTPClientError>, at now: ContinuousClock.Instant
    ) -> Completion {
        defer { discard(exchange) }
        return Completion(tag: exchange.tag, result: result, seconds: exchange.seconds(at: now))
    }

    private func discard(_ exchange: EasyHandle) {
        curl_multi_remove_handle(multi, exchange.easy)
        exchange.end()
        idle.append(exchange)
    }

    /// Lets libcurl begin as many requests on a connection as are good for one, or for the newest.
    private func limitStreams() {
        let limit = options.requiresHTTP2 && handshaking.count > 0 ? 1 : options.streamsPerConnection
        guard limit != streamsPerConnection else { return }
        streamsPerConnection = limit
        ccurl_set_multi_number(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, limit)
    }

    private func newHandle() -> EasyHandle {
        let exchange = EasyHandle(options, handshaking, buffers)
        handles.append(exchange)
        return exchange
    }

    private static func newMulti(_ options: Options) -> UnsafeMutableRawPointer {
        guard let multi = curl_multi_init() else { preconditionFailure("curl_multi_init: out of memory") }
        ccurl_set_multi_number(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        ccurl_set_multi_number(multi, CURLMOPT_MAX_HOST_CONNECTIONS, options.connectionsPerHost)
        // By default four per request in flight, so that a quiet moment would close what the next one needs.
        ccurl_set_multi_number(multi, CURLMOPT_MAXCONNECTS, max(64, options.connectionsPerHost))
        return multi
    }
}
