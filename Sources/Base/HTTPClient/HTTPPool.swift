import CCurl
import Glibc

/// libcurl's multi interface: many requests over few connections, driven by the thread that owns the pool.
///
/// The pool uses HTTP/2 over TLS if the server supports it (ALPN), otherwise HTTP/1.1. It verifies certificates and
/// does not follow redirects. It sends no cookies and no credentials, and by default uses no proxies.
///
/// The pool has its own time-outs, because libcurl's do not apply to a request that waits for room on a connection.
package final class HTTPPool {
    package struct Options: Sendable {
        /// The largest number of connections to one host and port; at least 1.
        package var connectionsPerHost = 2
        /// The largest number of concurrent requests on one connection; at least 1. The server may allow fewer.
        package var streamsPerConnection = 1_000
        /// The time limit of a request, from ``start(_:tag:allowsPrivateAddresses:skipsQueue:)`` to the end of the
        /// response.
        package var timeoutMilliseconds = 10_000
        /// Seconds after which an idle connection is not reused.
        package var idleSecondsMax = 3_600
        /// The path of a PEM file with the CA certificates to trust. If it is empty, the system's are trusted.
        package var caFile = ""
        /// Whether requests may connect to addresses that are not public: private, loopback, link-local, multicast and
        /// unspecified ones. For a host name, the address that it resolves to is checked.
        package var allowsPrivateAddresses = true
        /// Whether http is allowed besides https.
        package var allowsPlainHTTP = false
        /// Whether requests are sent only to servers that support HTTP/2. While a new connection has received no
        /// response, every connection of the pool then gets one request at a time, because APNs allows no more before
        /// it has accepted a token. So use this option only for a pool whose requests all go to one host.
        package var requiresHTTP2 = false
        /// The size of each connection's send buffer in bytes; the system may allow less. The pool starts only as many
        /// requests as fit in the fullest buffer (see ``SendBufferBudget``), so a slow connection delays all requests.
        /// With nil, the system chooses the size, and requests start at once.
        package var sendBufferBytes: Int?
        /// How many bytes of a response's body are read. A longer one is cut off there: the request ends, with
        /// ``HTTPClientResponse/isComplete`` false, and its connection is closed, or its stream of HTTP/2 is reset. By
        /// default this is no error, because the status tells what the server has done.
        package var responseBytesMax = 65_536
        /// Whether a request fails if the response's body is longer than ``responseBytesMax``.
        package var rejectsLargerResponses = false
        /// Whether a response counts as soon as its status is known: if the rest is lost or does not come in time, the
        /// request has not failed. Without this option, that is so for the status 2xx only.
        package var needsOnlyStatus = false
        /// Whether requests use the proxies that the environment variables configure.
        package var usesProxy = false

        package init() {}
    }

    /// A request that has ended.
    package struct Completion: Sendable {
        /// The tag that ``start(_:tag:allowsPrivateAddresses:skipsQueue:)`` was called with.
        package let tag: Int
        package let result: Result<HTTPClientResponse, HTTPClientError>
        /// The time from ``start(_:tag:allowsPrivateAddresses:skipsQueue:)`` to the end.
        package let seconds: Double
    }

    /// Ends ``wait(milliseconds:)`` from other threads.
    package let waker = Waker()

    private let options: Options
    private var multi: UnsafeMutableRawPointer
    /// All handles, idle and busy. None is freed before the pool.
    private var handles: [EasyHandle] = []
    private var idle: [EasyHandle] = []
    private var deadlines = Deadlines()
    private let handshaking = ConnectionsInHandshake()
    private let buffers: SendBufferBudget
    /// Requests not yet added to libcurl, in the order of their start.
    private var queued: [TimedRequest] = []
    /// Requests added to libcurl that were not completely written at the last ``perform()``.
    private var uploading: [TimedRequest] = []
    /// libcurl's present limit of concurrent requests on one connection; 0 before it is set.
    private var streamsPerConnection = 0
    /// The number of requests in libcurl that had not ended after the last `curl_multi_perform`.
    private var running: Int32 = 0
    /// The completions of requests that cannot be written as HTTP. They failed before they were passed to libcurl; the
    /// next ``perform()`` returns them.
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

    /// The number of requests without a ``Completion`` yet.
    package var inFlight: Int { handles.count - idle.count + invalid.count }

    /// Starts a request.
    /// - Parameters:
    ///   - tag: identifies the request; unique among those in flight.
    ///   - allowsPrivateAddresses: replaces ``Options/allowsPrivateAddresses`` for this request, unless nil. If private
    ///     addresses are not allowed, the request does not use open connections to such addresses either.
    ///   - skipsQueue: whether the request starts before the requests that wait for room in the send buffers.
    package func start(
        _ request: HTTPClientRequest, tag: Int, allowsPrivateAddresses: Bool? = nil, skipsQueue: Bool = false
    ) {
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
        queued.insert(TimedRequest(handle), at: skipsQueue ? 0 : queued.count)
    }

    /// Reads and writes without blocking. Returns the requests that have ended.
    package func perform() -> [Completion] {
        admit()
        // An error of this call is ignored: it does not belong to a request, and each request has its deadline.
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

    /// Blocks until a socket is ready, another thread calls ``Waker/wake()``, or the time is over.
    ///
    /// With many requests in flight, it first sleeps for some milliseconds even if a socket is ready, so that one
    /// `curl_multi_perform` handles several responses: each call visits all requests, which takes about 1 µs per
    /// request.
    package func wait(milliseconds: Int) {
        batchWakeUps(milliseconds: milliseconds)
        var limit = invalid.isEmpty ? milliseconds : 0
        // Queued requests wait for a send buffer to drain, which causes no event: check again every 2 ms.
        if !queued.isEmpty { limit = min(limit, 2) }
        // Wait at most a second: no socket event reports bytes that libcurl has read from TLS but not processed.
        if inFlight > 0 { limit = min(limit, 1_000) }
        if let (_, deadline) = deadlines.next() {
            // Rounded up: a wait that ends before the deadline would be repeated many times without sleeping.
            limit = min(limit, Int(ContinuousClock.now.duration(to: deadline) / .milliseconds(1)) + 1)
        }
        var wake = curl_waitfd(fd: waker.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        curl_multi_poll(multi, &wake, 1, Int32(clamping: max(limit, 0)), nil)
        waker.reset()
    }

    /// Sleeps ten times as long as libcurl takes to visit all requests, but at most 10 ms: with a thousand in flight, a
    /// `curl_multi_perform` per response would cost more than all other work. Correctness does not depend on this
    /// sleep.
    private func batchWakeUps(milliseconds: Int) {
        let microseconds = min(inFlight * 10, 10_000, milliseconds * 1_000)
        if microseconds >= 500 { usleep(UInt32(microseconds)) }
    }

    /// Cancels those requests among `tags` that are not written yet.
    /// - Returns: the tags of the cancelled requests, which get no ``Completion``.
    package func withdraw(_ tags: Set<Int>) -> [Int] {
        let unwritten = handles.filter { $0.isBusy && !$0.wasWritten && tags.contains($0.tag) }
        for handle in unwritten { discard(handle) }
        return unwritten.map(\.tag)
    }

    /// Closes all connections and ends all requests. The next request opens a new connection and resolves the host's
    /// name again.
    /// - Returns: the completions of all requests. Those that have no result yet fail: with `.lost` if they were
    ///   written, otherwise with `.notSent`.
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
                // Fails only if no memory is left, or if the handle is already added.
                let result = curl_multi_add_handle(multi, request.handle.easy)
                precondition(result == CURLM_OK, "curl_multi_add_handle: \(String(cString: curl_multi_strerror(result)))")
                uploading.append(request)
            }
            admitted += 1
        }
        queued.removeFirst(admitted)
    }

    /// Removes and returns the requests that libcurl has finished, and those in `invalid`.
    private func drainFinished() -> [Completion] {
        // Read all messages before removing any handle: libcurl searches all unread messages for each removed handle.
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

    /// Removes a handle from libcurl and makes it idle.
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
        // By default, libcurl keeps at most four connections per request in flight. With few requests in flight, it
        // would close connections that the next burst needs.
        ccurl_set_multi_number(multi, CURLMOPT_MAXCONNECTS, max(64, options.connectionsPerHost))
        return multi
    }
}
