import CCurl
import Glibc

/// An easy handle of libcurl and its current request. The pool reuses handles for further requests.
///
/// ``init(_:_:_:)`` sets the options that all requests share, ``begin(_:tag:allowsPrivateAddresses:at:)`` those of one
/// request. libcurl keeps pointers to this object, so it must not be freed while its handle is in a multi handle.
final class EasyHandle {
    /// libcurl's handle.
    let easy: UnsafeMutableRawPointer
    /// The request's tag, see ``HTTPPool/start(_:tag:allowsPrivateAddresses:skipsQueue:)``.
    private(set) var tag = 0
    /// Changes when a request begins and when it ends, so that ``TimedRequest`` can tell requests apart.
    private(set) var serial = 0

    private let responseBytesMax: Int
    private let rejectsLargerResponses: Bool
    private let needsOnlyStatus: Bool
    private let requiresHTTP2: Bool
    private let handshaking: ConnectionsInHandshake
    private let buffers: SendBufferBudget
    private var method: HTTPClientRequest.Method?
    private var allowsPrivateAddresses = false
    private var beganAt = ContinuousClock.now
    private var headers: UnsafeMutablePointer<curl_slist>?
    /// Buffer for the request's body, which libcurl does not copy. Never empty: with a null pointer, libcurl would read
    /// the body from a callback.
    private var body = UnsafeMutableRawBufferPointer.allocate(byteCount: 8_192, alignment: 1)
    private var bodyBytes = 0
    /// Buffer for one header.
    private var line: [UInt8] = []

    private var responseBody: [UInt8] = []
    private var responseHeaders: [String: String] = [:]
    /// How often libcurl was about to write the request to a connection.
    private(set) var writes = 0
    /// Maximum bytes that the request needs in a send buffer.
    private var requestBytes = 0
    /// Bytes that the request currently reserves in the send buffers: `requestBytes`, or 0.
    private var reservedBytes = 0 {
        didSet { buffers.reserved += reservedBytes - oldValue }
    }
    /// Whether the handle has a request: from ``begin(_:tag:allowsPrivateAddresses:at:)`` to ``end()``.
    private(set) var isBusy = false
    /// Whether the request opens a connection that has received no response header yet.
    private var isInHandshake = false {
        didSet { handshaking.count += (isInHandshake ? 1 : 0) - (oldValue ? 1 : 0) }
    }
    /// Why one of the callbacks below aborted the request, or rejected an address of the host; nil if none did.
    private var abortReason: String?
    /// Whether the response's body is longer than is read.
    private var isResponseCutOff = false
    private let errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    init(_ options: HTTPPool.Options, _ handshaking: ConnectionsInHandshake, _ buffers: SendBufferBudget) {
        guard let easy = curl_easy_init() else { preconditionFailure("curl_easy_init: out of memory") }
        self.easy = easy
        responseBytesMax = options.responseBytesMax
        rejectsLargerResponses = options.rejectsLargerResponses
        needsOnlyStatus = options.needsOnlyStatus
        requiresHTTP2 = options.requiresHTTP2
        self.handshaking = handshaking
        self.buffers = buffers
        errorBuffer[0] = 0
        setUp(options)
        let this = Unmanaged.passUnretained(self).toOpaque()
        ccurl_set_pointer(easy, CURLOPT_PRIVATE, this)
        ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorBuffer)
        ccurl_set_writer(easy, Self.receiveBody, this)
        ccurl_set_header_reader(easy, Self.receiveHeader, this)
        ccurl_set_opensocket(easy, Self.openSocket, this)
        // The callback's argument is the budget, not this handle: a connection may outlive the request that opened it.
        ccurl_set_closesocket(easy, Self.closeSocket, Unmanaged.passUnretained(buffers).toOpaque())
        ccurl_set_prerequest(easy, Self.willWrite, this)
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(headers)
        body.deallocate()
        errorBuffer.deallocate()
    }

    /// The ``EasyHandle`` that owns a handle of libcurl.
    static func owner(of easy: UnsafeMutableRawPointer) -> EasyHandle {
        var owner: UnsafeMutableRawPointer?
        ccurl_owner(easy, &owner)
        guard let owner else { preconditionFailure("curl_easy_getinfo: CURLINFO_PRIVATE is not set") }
        return Unmanaged<EasyHandle>.fromOpaque(owner).takeUnretainedValue()
    }

    private func setUp(_ options: HTTPPool.Options) {
        ccurl_set_text(easy, CURLOPT_PROTOCOLS_STR, options.allowsPlainHTTP ? "https,http" : "https")
        ccurl_set_number(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        ccurl_set_number(easy, CURLOPT_NOSIGNAL, 1)
        // Without this option, removing a request that is resolving a name would block the thread until the resolver
        // returns.
        ccurl_set_number(easy, CURLOPT_QUICK_EXIT, 1)
        if !options.usesProxy { ccurl_set_text(easy, CURLOPT_NOPROXY, "*") }
        // To detect dead connections, TCP probes a connection that has been idle for 60 s, then every 15 s.
        ccurl_set_number(easy, CURLOPT_TCP_KEEPALIVE, 1)
        ccurl_set_number(easy, CURLOPT_TCP_KEEPIDLE, 60)
        ccurl_set_number(easy, CURLOPT_TCP_KEEPINTVL, 15)
        ccurl_set_number(easy, CURLOPT_MAXAGE_CONN, options.idleSecondsMax)
        // CURLOPT_BUFFERSIZE keeps its default of 16 KiB, the size of a TLS record. With a smaller buffer, libcurl 7.88
        // would read the rest of a record only when more data arrives on the connection, perhaps never.
        guard !options.caFile.isEmpty else { return }
        ccurl_set_text(easy, CURLOPT_CAINFO, options.caFile)
        ccurl_set_text(easy, CURLOPT_CAPATH, nil)  // by default, libcurl would also trust the system's directory
    }

    /// Sets the options of a request. The request starts when the pool adds the handle to its multi handle.
    /// - Throws: `.notSent` if the request cannot be written as HTTP.
    func begin(
        _ request: HTTPClientRequest, tag: Int, allowsPrivateAddresses: Bool, at now: ContinuousClock.Instant
    ) throws(HTTPClientError) {
        // libcurl would read the URL only up to a NUL, but callers have checked the whole string.
        guard !request.url.utf8.contains(0) else { throw .notSent("the URL contains a NUL byte") }
        bodyBytes = request.method == .get ? 0 : request.body.count
        requestBytes = SendBufferBudget.overheadBytes + request.url.utf8.count + bodyBytes
        for header in request.headers { try append(header) }
        self.tag = tag
        self.allowsPrivateAddresses = allowsPrivateAddresses
        serial += 1
        beganAt = now
        writes = 0
        isBusy = true
        abortReason = nil
        isResponseCutOff = false
        errorBuffer[0] = 0
        ccurl_set_text(easy, CURLOPT_URL, request.url)
        // With TLS, wait for a connection that is being opened rather than open another one: HTTP/2 multiplexes
        // requests. Without TLS there is no multiplexing, so the request would wait until another request has ended.
        let isPlain = request.url.utf8.prefix(5).elementsEqual("http:".utf8) { $0 | 0x20 == $1 }
        ccurl_set_number(easy, CURLOPT_PIPEWAIT, isPlain ? 0 : 1)
        ccurl_set_number(easy, CURLOPT_FRESH_CONNECT, request.needsFreshConnection ? 1 : 0)
        ccurl_set_headers(easy, headers)
        setMethod(request.method)
        if request.method != .get { setBody(request.body) }
    }

    /// Whether libcurl has written the request, or was about to. If false, the server cannot have processed it.
    var wasWritten: Bool { writes > 0 }

    /// Reserves the request's bytes in the send buffers.
    /// - Parameters:
    ///   - room: free bytes that no other request has reserved.
    ///   - isAlone: whether there is no other request. The request is then sent even if it is larger than `room`,
    ///     because waiting would not help.
    /// - Returns: false if the request must wait.
    func reserve(within room: Int, isAlone: Bool) -> Bool {
        guard requestBytes <= room || isAlone else { return false }
        reservedBytes = requestBytes
        return true
    }

    /// Ends the reservation if the request is completely written: the kernel then counts its bytes as used. The body
    /// may be written long after the headers.
    /// - Returns: whether the request is completely written.
    func completeUpload() -> Bool {
        var uploaded: curl_off_t = 0
        // If libcurl writes the request a second time, it does not tell how much of it is written: the reservation then
        // stays until the request ends.
        guard writes == 1, ccurl_uploaded(easy, &uploaded) == CURLE_OK, uploaded >= bodyBytes else { return false }
        reservedBytes = 0
        return true
    }

    /// Ends the request. The handle can then be used for another one.
    func end() {
        serial += 1
        isBusy = false
        reservedBytes = 0
        isInHandshake = false
        discardHeaders()
        responseBody = []
        responseHeaders = [:]
    }

    /// Seconds since the request began.
    func seconds(at now: ContinuousClock.Instant) -> Double { beganAt.duration(to: now) / .seconds(1) }

    // MARK: Request

    private func setMethod(_ method: HTTPClientRequest.Method) {
        guard method != self.method else { return }
        self.method = method
        ccurl_set_number(easy, method == .get ? CURLOPT_HTTPGET : CURLOPT_POST, 1)
        // A PUT is sent as a POST with another name: libcurl's own upload would read the body from a file.
        if method == .put {
            ccurl_set_text(easy, CURLOPT_CUSTOMREQUEST, "PUT")
        } else {
            ccurl_set_pointer(easy, CURLOPT_CUSTOMREQUEST, nil)
        }
    }

    private func setBody(_ bytes: [UInt8]) {
        if bytes.count > body.count {
            body.deallocate()
            body = .allocate(byteCount: bytes.count, alignment: 1)
        }
        body.copyBytes(from: bytes)
        ccurl_set_number(easy, CURLOPT_POSTFIELDSIZE, bytes.count)
        ccurl_set_pointer(easy, CURLOPT_POSTFIELDS, body.baseAddress)
    }

    private func append(_ header: (name: String, value: String)) throws(HTTPClientError) {
        line.removeAll(keepingCapacity: true)
        line.append(contentsOf: header.name.utf8)
        let nameBytes = line.count
        // To libcurl, a name with a semicolon means a header with an empty value; a name with a colon and no value
        // would mean that libcurl must not send this header.
        line.append(UInt8(ascii: header.value.isEmpty ? ";" : ":"))
        line.append(contentsOf: header.value.utf8)
        guard nameBytes > 0, isHeader(nameBytes: nameBytes) else {
            discardHeaders()
            throw .notSent("invalid header: \(header.name.prefix(64))")
        }
        line.append(0)
        requestBytes += line.count
        headers = line.withUnsafeBytes { curl_slist_append(headers, $0.assumingMemoryBound(to: CChar.self).baseAddress) }
        precondition(headers != nil, "curl_slist_append: out of memory")
    }

    /// Whether `line` is exactly one header. A line break in it would begin another header, or the body.
    private func isHeader(nameBytes: Int) -> Bool {
        let name = line[..<nameBytes]
        return name.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: ";") }
            && line[nameBytes...].allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    private func discardHeaders() {
        curl_slist_free_all(headers)
        headers = nil
    }
}

// MARK: Result

extension EasyHandle {
    /// The result of a transfer that libcurl ended with `code`.
    func result(_ code: CURLcode) -> Result<HTTPClientResponse, HTTPClientError> {
        guard code != CURLE_OK else { return .success(response(isComplete: true)) }
        let text = errorBuffer[0] == 0 ? String(cString: curl_easy_strerror(code)) : String(cString: errorBuffer)
        return result(error: HTTPClientError(code: code.rawValue, text: abortReason ?? text, writes: writes))
    }

    /// The result of a request that the pool removes from libcurl before its response is complete.
    /// - Parameters:
    ///   - error: the error if the request was written.
    ///   - text: the text of `.notSent`, the error if the request was not written.
    func result(ifWritten error: HTTPClientError, otherwise text: String) -> Result<HTTPClientResponse, HTTPClientError> {
        result(error: wasWritten ? error : .notSent(text))
    }

    /// The result of a request whose response is incomplete. With a 2xx status it is a success: the server has
    /// processed the request, and the rest of the response is not needed. It is `error`
    /// with any other status, because the reason for the status may be in the missing part of the body, and if the
    /// response was rejected as too large. A response that was cut off has all that is read of any response.
    private func result(error: HTTPClientError) -> Result<HTTPClientResponse, HTTPClientError> {
        let response = response(isComplete: false)
        guard wasWritten, !(isResponseCutOff && rejectsLargerResponses) else { return .failure(error) }
        let suffices = isResponseCutOff || needsOnlyStatus ? response.status >= 200 : 200..<300 ~= response.status
        return suffices ? .success(response) : .failure(error)
    }

    private func response(isComplete: Bool) -> HTTPClientResponse {
        var status = 0
        ccurl_status(easy, &status)
        return HTTPClientResponse(status: status, body: responseBody, headers: responseHeaders, isComplete: isComplete)
    }
}

// MARK: libcurl's callbacks

extension EasyHandle {
    private static let receiveBody: curl_write_callback = { bytes, size, count, user in
        guard let bytes, let user else { return 0 }
        let chunk = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return Unmanaged<EasyHandle>.fromOpaque(user)._withUnsafeGuaranteedRef { $0.appendBody(chunk) ? chunk.count : 0 }
    }

    private static let receiveHeader: curl_write_callback = { bytes, size, count, user in
        guard let bytes, let user else { return 0 }
        let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
        Unmanaged<EasyHandle>.fromOpaque(user)._withUnsafeGuaranteedRef { $0.readHeader(line) }
        return line.count
    }

    private static let openSocket: curl_opensocket_callback = { user, _, address in
        guard let user, let address else { return -1 }
        return Unmanaged<EasyHandle>.fromOpaque(user)._withUnsafeGuaranteedRef { $0.openSocket(to: address) }
    }

    private static let closeSocket: curl_closesocket_callback = { user, socket in
        if let user { Unmanaged<SendBufferBudget>.fromOpaque(user)._withUnsafeGuaranteedRef { $0.remove(socket) } }
        return close(socket)
    }

    private static let willWrite: curl_prereq_callback = { user, address, _, _, _ in
        guard let user else { return CURL_PREREQFUNC_ABORT }
        let mayWrite = Unmanaged<EasyHandle>.fromOpaque(user)._withUnsafeGuaranteedRef { $0.willWrite(to: address) }
        return mayWrite ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }

    /// Appends a chunk of the response's body, up to ``HTTPPool/Options/responseBytesMax``. What follows is not read:
    /// otherwise a server could keep this thread busy with a body that does not end.
    /// - Returns: false to end the request.
    private func appendBody(_ chunk: UnsafeRawBufferPointer) -> Bool {
        let room = responseBytesMax - responseBody.count
        responseBody.append(contentsOf: chunk.prefix(room))
        guard chunk.count > room else { return true }
        isResponseCutOff = true
        abortReason = "the response exceeds \(responseBytesMax) bytes"
        return false
    }

    private func readHeader(_ line: UnsafeRawBufferPointer) {
        if isInHandshake { isInHandshake = false }
        // A status line begins a response: the headers before it were those of a provisional response (1xx).
        if line.starts(with: "HTTP/".utf8) { responseHeaders = [:] }
        if let (header, value) = HTTPClientResponse.Header.parse(line) { responseHeaders[header.rawValue] = value }
    }

    /// Opens a socket for a new connection.
    /// - Returns: its descriptor; -1 if the request must not connect to this address, or on an error. libcurl then
    ///   tries the next address of the host.
    private func openSocket(to address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        // The structure's last member, the address, may be longer than declared: `addrlen` is its length.
        let start = UnsafeRawPointer(address) + MemoryLayout<curl_sockaddr>.offset(of: \.addr)!
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(address.pointee.addrlen))
        guard allowsPrivateAddresses || checkPublic(PeerAddress(socketAddress: bytes)) else { return -1 }
        isInHandshake = true
        let descriptor = socket(
            address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
        if descriptor >= 0 { buffers.add(descriptor) }
        return descriptor
    }

    /// Checks the connection and counts the write; libcurl calls this each time it is about to write the request. The
    /// address is checked again, because libcurl may reuse a connection that a request with `allowsPrivateAddresses`
    /// opened.
    /// - Returns: false to abort the request.
    private func willWrite(to address: UnsafePointer<CChar>?) -> Bool {
        guard allowsPrivateAddresses || checkPublic(address.flatMap { PeerAddress(text: $0) }) else { return false }
        guard !requiresHTTP2 || ccurl_agreed_on_http2(easy) == 1 else {
            abortReason = "the server does not support HTTP/2"
            return false
        }
        writes += 1
        // The second and later writes send the whole request again.
        if writes > 1 { reservedBytes = requestBytes }
        abortReason = nil  // it is set if another address of the host was rejected before
        return true
    }

    /// Whether the address is public. If not, sets `abortReason`.
    private func checkPublic(_ address: PeerAddress?) -> Bool {
        guard let address, address.isPublic else {
            abortReason = "\(address?.description ?? "an address of an unknown kind") is not a public address"
            return false
        }
        return true
    }
}
