import CCurl
import Glibc

/// An easy handle of libcurl, and the request that it is busy with; the next request takes it over.
///
/// What never changes is said once (``init(_:)``), what belongs to a request in ``begin(_:tag:allowsPrivateAddresses:at:)``.
/// libcurl keeps pointers into it, so it must outlive its stay in a multi handle.
final class EasyHandle {
    let easy: UnsafeMutableRawPointer
    private(set) var tag = 0
    /// Changes whenever a request begins or ends, so that what was noted about one is not taken for the next.
    private(set) var serial = 0

    private let responseBytesMax: Int
    private let requiresHTTP2: Bool
    private let handshaking: ConnectionsInHandshake
    private let buffers: SendBufferBudget
    private var method: HTTPClientRequest.Method?
    private var allowsPrivateAddresses = false
    private var began = ContinuousClock.now
    private var headers: UnsafeMutablePointer<curl_slist>?
    /// The request's body, which libcurl does not copy; never empty, for a null pointer would mean a body yet to be asked for.
    private var body = UnsafeMutableRawBufferPointer.allocate(byteCount: 8_192, alignment: 1)
    private var bodyBytes = 0
    /// Where a header is put together.
    private var line: [UInt8] = []

    private var responseBody: [UInt8] = []
    private var responseHeaders: [String: String] = [:]
    /// How often libcurl was about to write the request, to whatever connection.
    private(set) var writes = 0
    /// Bytes at most of the request as it is written.
    private var requestBytes = 0
    /// What of them is promised to the send buffers.
    private var reservedBytes = 0 {
        didSet { buffers.reserved += reservedBytes - oldValue }
    }
    /// Whether a request of it is under way.
    private(set) var isBusy = false
    /// Whether it opened a connection, and nothing has come back yet.
    private var isFirst = false {
        didSet { handshaking.count += (isFirst ? 1 : 0) - (oldValue ? 1 : 0) }
    }
    /// Why we ended it ourselves.
    private var abortReason: String?
    private let errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    init(_ options: HTTPPool.Options, _ fresh: ConnectionsInHandshake, _ buffers: SendBufferBudget) {
        guard let easy = curl_easy_init() else { preconditionFailure("curl_easy_init: out of memory") }
        self.easy = easy
        responseBytesMax = options.responseBytesMax
        requiresHTTP2 = options.requiresHTTP2
        self.handshaking = fresh
        self.buffers = buffers
        errorBuffer[0] = 0
        setUp(options)
        let this = Unmanaged.passUnretained(self).toOpaque()
        ccurl_set_pointer(easy, CURLOPT_PRIVATE, this)
        ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorBuffer)
        ccurl_set_writer(easy, Self.receiveBody, this)
        ccurl_set_header_reader(easy, Self.receiveHeader, this)
        ccurl_set_socket_opener(easy, Self.openSocket, this)
        // A connection outlives the request that opened it, as the pool does.
        ccurl_set_socket_closer(easy, Self.closeSocket, Unmanaged.passUnretained(buffers).toOpaque())
        ccurl_set_gatekeeper(easy, Self.mayWrite, this)
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(headers)
        body.deallocate()
        errorBuffer.deallocate()
    }

    /// The one that made `easy`.
    static func busy(with easy: UnsafeMutableRawPointer) -> EasyHandle {
        var owner: UnsafeMutableRawPointer?
        ccurl_owner(easy, &owner)
        guard let owner else { preconditionFailure("CURLINFO_PRIVATE: a handle that nobody made") }
        return Unmanaged<EasyHandle>.fromOpaque(owner).takeUnretainedValue()
    }

    private func setUp(_ options: HTTPPool.Options) {
        ccurl_set_text(easy, CURLOPT_PROTOCOLS_STR, options.allowsPlainHTTP ? "https,http" : "https")
        ccurl_set_number(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        ccurl_set_number(easy, CURLOPT_NOSIGNAL, 1)
        // A request that is given up would wait for its name to be resolved, and everybody behind it.
        ccurl_set_number(easy, CURLOPT_QUICK_EXIT, 1)
        ccurl_set_text(easy, CURLOPT_NOPROXY, "*")
        ccurl_set_number(easy, CURLOPT_TCP_KEEPALIVE, 1)
        ccurl_set_number(easy, CURLOPT_TCP_KEEPIDLE, 60)
        ccurl_set_number(easy, CURLOPT_TCP_KEEPINTVL, 15)
        ccurl_set_number(easy, CURLOPT_MAXAGE_CONN, options.idleSecondsMax)
        // CURLOPT_BUFFERSIZE stays at 16 KiB, a TLS record: when an answer's part finds no room (7.88), those behind it on the
        // connection are read only when more comes, perhaps never.
        guard !options.caFile.isEmpty else { return }
        ccurl_set_text(easy, CURLOPT_CAINFO, options.caFile)
        ccurl_set_text(easy, CURLOPT_CAPATH, nil)  // the system's directory would be trusted besides
    }

    /// Says what is to be asked; nothing happens before it is given to a multi handle.
    /// - Throws: `.notSent` for a call that cannot be written as HTTP.
    func begin(
        _ call: HTTPClientRequest, tag: Int, allowsPrivateAddresses: Bool, at now: ContinuousClock.Instant
    ) throws(HTTPClientError) {
        // A NUL would end the URL early, behind the back of whoever checked it.
        guard !call.url.utf8.contains(0) else { throw .notSent("a URL with a NUL") }
        bodyBytes = call.method == .post ? call.body.count : 0
        requestBytes = SendBufferBudget.overheadBytes + call.url.utf8.count + bodyBytes
        for header in call.headers { try append(header) }
        self.tag = tag
        self.allowsPrivateAddresses = allowsPrivateAddresses
        serial += 1
        began = now
        writes = 0
        isBusy = true
        abortReason = nil
        errorBuffer[0] = 0
        ccurl_set_text(easy, CURLOPT_URL, call.url)
        // A stream of a connection in the making before another connection; without TLS there are no streams, and one would
        // wait for the other's answer.
        let isPlain = call.url.utf8.prefix(5).elementsEqual("http:".utf8) { $0 | 0x20 == $1 }
        ccurl_set_number(easy, CURLOPT_PIPEWAIT, isPlain ? 0 : 1)
        ccurl_set_headers(easy, headers)
        setMethod(call.method)
        if call.method == .post { setBody(call.body) }
    }

    /// Whether libcurl was allowed to write the request.
    var wasWritten: Bool { writes > 0 }

    /// Counts the request among those that are about to be written, unless it would not fit. What fits nowhere goes alone.
    func reserve(within room: Int, isAlone: Bool) -> Bool {
        guard requestBytes <= room || isAlone else { return false }
        reservedBytes = requestBytes
        return true
    }

    /// Whether all of it has been written, so that the kernel counts it from now on. The body may follow long after the headers,
    /// when the connection has room again.
    func hasLeft() -> Bool {
        var uploaded: curl_off_t = 0
        // Of a second time nobody can say when it has: it keeps its place until it ends.
        guard writes == 1, ccurl_uploaded(easy, &uploaded) == CURLE_OK, uploaded >= bodyBytes else { return false }
        reservedBytes = 0
        return true
    }

    /// Puts the handle away for the next request.
    func end() {
        serial += 1
        isBusy = false
        reservedBytes = 0
        isFirst = false
        discardHeaders()
        responseBody = []
        responseHeaders = [:]
    }

    /// Seconds since it began.
    func seconds(at now: ContinuousClock.Instant) -> Double { began.duration(to: now) / .seconds(1) }

    // MARK: The request

    private func setMethod(_ method: HTTPClientRequest.Method) {
        guard method != self.method else { return }
        self.method = method
        ccurl_set_number(easy, method == .get ? CURLOPT_HTTPGET : CURLOPT_POST, 1)
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
        // "If you want to send a header with no value, end it with a semicolon": a bare colon would remove it.
        line.append(UInt8(ascii: header.value.isEmpty ? ";" : ":"))
        line.append(contentsOf: header.value.utf8)
        guard nameBytes > 0, isHeader(nameBytes: nameBytes) else {
            discardHeaders()
            throw .notSent("a header that cannot be written: \(header.name.prefix(64))")
        }
        line.append(0)
        requestBytes += line.count
        headers = line.withUnsafeBytes { curl_slist_append(headers, $0.assumingMemoryBound(to: CChar.self).baseAddress) }
        precondition(headers != nil, "curl_slist_append: out of memory")
    }

    /// Whether `line` can only be read as one header: a line break in it would begin another, or the body.
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

// MARK: What became of it

extension EasyHandle {
    /// What libcurl's `code` and all that was received amount to.
    func result(_ code: CURLcode) -> Result<HTTPClientResponse, HTTPClientError> {
        guard code != CURLE_OK else { return .success(reply(isWhole: true)) }
        let said = errorBuffer[0] == 0 ? String(cString: curl_easy_strerror(code)) : String(cString: errorBuffer)
        return result(otherwise: HTTPClientError(code: code.rawValue, words: abortReason ?? said, writes: writes))
    }

    /// Of a request that is taken from libcurl before it has its whole answer.
    /// - Parameters:
    ///   - failure: if it was written.
    ///   - words: if it was not.
    func result(after failure: HTTPClientError, otherwise words: String) -> Result<HTTPClientResponse, HTTPClientError> {
        result(otherwise: wasWritten ? failure : .notSent(words))
    }

    /// A server that has said 2xx has done what it was asked, whatever became of the rest of its answer. What else it says
    /// needs its reasons, which are in the body.
    private func result(otherwise failure: HTTPClientError) -> Result<HTTPClientResponse, HTTPClientError> {
        let reply = reply(isWhole: false)
        return wasWritten && 200..<300 ~= reply.status ? .success(reply) : .failure(failure)
    }

    private func reply(isWhole: Bool) -> HTTPClientResponse {
        var status = 0
        ccurl_status(easy, &status)
        return HTTPClientResponse(status: status, body: responseBody, headers: responseHeaders, isWhole: isWhole)
    }
}

// MARK: What libcurl asks and tells

extension EasyHandle {
    private static let receiveBody: curl_write_callback = { bytes, size, count, user in
        guard let bytes, let user else { return 0 }
        let chunk = UnsafeRawBufferPointer(start: bytes, count: size * count)
        Unmanaged<EasyHandle>.fromOpaque(user)._withUnsafeGuaranteedRef { $0.appendBody(chunk) }
        return chunk.count
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

    private static let mayWrite: curl_prereq_callback = { user, address, _, _, _ in
        guard let user else { return CURL_PREREQFUNC_ABORT }
        let mayWrite = Unmanaged<EasyHandle>.fromOpaque(user)._withUnsafeGuaranteedRef { $0.mayWrite(to: address) }
        return mayWrite ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }

    private func appendBody(_ chunk: UnsafeRawBufferPointer) {
        responseBody.append(contentsOf: chunk.prefix(responseBytesMax - responseBody.count))
    }

    private func readHeader(_ line: UnsafeRawBufferPointer) {
        if isFirst { isFirst = false }
        // A status line: what came before it was provisional (1xx).
        if line.starts(with: "HTTP/".utf8) { responseHeaders = [:] }
        if let (header, value) = HTTPClientResponse.Header.parse(line) { responseHeaders[header.rawValue] = value }
    }

    /// -1, and libcurl tries the next address of the name, when the call may not go there.
    private func openSocket(to address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        // The structure's last member is longer than it is declared.
        let start = UnsafeRawPointer(address) + MemoryLayout<curl_sockaddr>.offset(of: \.addr)!
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(address.pointee.addrlen))
        guard allowsPrivateAddresses || isPublic(PeerAddress(socketAddress: bytes)) else { return -1 }
        isFirst = true
        let descriptor = socket(
            address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
        if descriptor >= 0 { buffers.add(descriptor) }
        return descriptor
    }

    /// Asked when a connection is ready, be it new or an old one that a bolder call left open.
    private func mayWrite(to address: UnsafePointer<CChar>?) -> Bool {
        guard allowsPrivateAddresses || isPublic(address.flatMap { PeerAddress(text: $0) }) else { return false }
        guard !requiresHTTP2 || ccurl_agreed_on_http2(easy) == 1 else {
            abortReason = "the server does not speak HTTP/2"
            return false
        }
        writes += 1
        // Once more, by libcurl itself: all of it has yet to be written again.
        if writes > 1 { reservedBytes = requestBytes }
        abortReason = nil  // of an address tried before
        return true
    }

    private func isPublic(_ address: PeerAddress?) -> Bool {
        guard let address, address.isPublic else {
            abortReason = "\(address?.description ?? "an address of an unknown kind") is not a public address"
            return false
        }
        return true
    }
}
