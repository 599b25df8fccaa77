import Crypto
import HTTP
import Primitives

/// Verifies the signature of a request to Pusher's HTTP API (protocol points A1–A10). One instance per thread.
///
/// Everything is compared as bytes, and nothing is allocated for a request that is signed in the usual form (see
/// ``SignedQuery``): this runs for every publish.
package final class RequestSignature {
    /// The maximum difference between a request's timestamp and this machine's clock, in seconds.
    package static let clockSkewSecondsMax: Int64 = 600
    /// The most parameters in a query that has to be converted before it is verified.
    private static let parametersMax = 100

    private let md5 = MD5()
    private let replayGuard: ReplayGuard?
    /// See `init`.
    private let pathPrefix: [UInt8]
    /// The text that is signed. A property, so that its memory is reused.
    private var text: [UInt8] = []

    /// - Parameters:
    ///   - pathPrefix: where the gateway is reached below a path, such as `/ws`: some libraries sign that path, others the one
    ///     behind it. Empty: it is not.
    ///   - replayGuard: records the signatures of accepted requests. Nil to accept repeated requests.
    package init(pathPrefix: String = "", replayGuard: ReplayGuard? = nil) {
        self.pathPrefix = Array(pathPrefix.utf8)
        self.replayGuard = replayGuard
    }

    /// Checks the key, the version, the timestamp and the signature, in this order. The signature covers the body's
    /// digest, which is in the query, so the body is not needed.
    /// - Parameters:
    ///   - request: only its head is read.
    ///   - now: seconds since 1970.
    /// - Throws: ``APIError`` with 401; with 400 if the query has too many parameters.
    package func check(_ request: HTTPRequest, for app: Application, now: Int64) throws(APIError) -> SignedHead {
        let raw = request.rawQuery
        if let query = SignedQuery(raw: raw) { return try check(request, query, in: raw, for: app, now) }
        // Converting takes long for each parameter, and the sender is not authenticated yet.
        guard raw.count(where: { $0 == UInt8(ascii: "&") }) < Self.parametersMax else {
            throw APIError(400, "Too many query parameters: expected at most \(Self.parametersMax)")
        }
        let (bytes, query) = SignedQuery.decoding(raw)
        return try bytes.withUnsafeBufferPointer { (bytes) throws(APIError) in
            try check(request, query, in: UnsafeRawBufferPointer(bytes), for: app, now)
        }
    }

    /// - Parameter bytes: the bytes that the ranges of `query` refer to.
    private func check(
        _ request: HTTPRequest, _ query: SignedQuery, in bytes: UnsafeRawBufferPointer, for app: Application, _ now: Int64
    ) throws(APIError) -> SignedHead {
        func value(_ range: ByteRange?, _ name: StaticString) throws(APIError) -> UnsafeRawBufferPointer {
            guard let range else { throw APIError(401, "Missing parameter: \(name)") }
            return bytes[range]
        }
        guard try value(query.key, "auth_key").hasSameBytes(as: app.key) else { throw APIError(401, "Unknown auth_key") }
        guard try value(query.version, "auth_version").hasSameBytes(as: "1.0") else {
            throw APIError(401, "Invalid auth_version: expected 1.0")
        }
        let timestamp = try Self.timestamp(value(query.timestamp, "auth_timestamp"), now)
        let signature = try value(query.signature, "auth_signature")
        guard verifies(signature, of: request, bytes[query.signedBefore], bytes[query.signedAfter], for: app) else {
            throw invalid(signature)
        }
        var bodyDigest: UInt128?
        if let digest = query.bodyMD5 {
            bodyDigest = Hexadecimal.number(bytes[digest])
            guard bodyDigest != nil else { throw Self.invalidDigest }
        }
        return SignedHead(
            bodyDigest: bodyDigest, timestamp: timestamp,
            signature: Hexadecimal.number(UnsafeRawBufferPointer(rebasing: signature.prefix(32))) ?? 0)
    }

    /// Checks that a body has the digest in the query (protocol point A8).
    /// - Parameter head: the result for the head of the same request.
    /// - Throws: ``APIError`` with 401.
    package func check(_ body: UnsafeRawBufferPointer, of head: SignedHead) throws(APIError) {
        if body.isEmpty, head.bodyDigest == nil { return }
        guard let digest = head.bodyDigest else { throw APIError(401, "Missing parameter: body_md5") }
        guard digest == md5.digest(of: body) else { throw Self.invalidDigest }
    }

    /// Records that a request is accepted. Call it after all checks of the signature, right before the request has an
    /// effect: a request that was interrupted before may be repeated.
    /// - Throws: ``APIError`` with 401 if the request was accepted before, with 503 if it cannot be recorded.
    package func accept(_ head: SignedHead) throws(APIError) {
        switch replayGuard?(head) {
        case .new?, nil: return
        case .repeated?:
            throw APIError(401, "This request was already accepted: sign each request with a new auth_timestamp or body")
        case .full?:
            throw APIError(503, "Overloaded: nothing was done, try again", headers: ["Retry-After": "1"])
        }
    }

    // MARK: Parts

    /// - Parameter digits: seconds since 1970.
    private static func timestamp(_ digits: UnsafeRawBufferPointer, _ now: Int64) throws(APIError) -> Int64 {
        // Thirteen digits or fewer cannot overflow, nor can the arithmetic below.
        guard (1...13).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
            case let seconds = digits.reduce(Int64(0), { $0 * 10 + Int64($1 - 0x30) }), seconds < 1 << 40
        else { throw APIError(401, "Invalid auth_timestamp: expected seconds since 1970") }
        guard abs(now - seconds) <= clockSkewSecondsMax else {
            let given = Timestamp.iso8601(milliseconds: seconds * 1000)
            let ours = Timestamp.iso8601(milliseconds: now * 1000)
            throw APIError(
                401, "Timestamp expired: Given timestamp (\(given)) not within \(clockSkewSecondsMax)s of server time (\(ours))")
        }
        return seconds
    }

    /// Whether the signature is that of a text that counts (protocol point A1): with the path decoded, as Pusher's libraries
    /// sign it, or as it was sent; and with the prefix or without it. Leaves the first of these texts in ``text``.
    private func verifies(
        _ signature: UnsafeRawBufferPointer, of request: HTTPRequest, _ before: UnsafeRawBufferPointer,
        _ after: UnsafeRawBufferPointer, for app: Application
    ) -> Bool {
        func isSigned(_ prefix: [UInt8], isDecoded: Bool) -> Bool {
            writeText(request, prefix, isDecoded: isDecoded, before, after)
            return text.withUnsafeBytes { app.verifies(signature, of: $0) }
        }
        if isSigned([], isDecoded: true) { return true }
        let hasEscapes = request.rawPath.contains(UInt8(ascii: "%"))
        if hasEscapes, isSigned([], isDecoded: false) { return true }
        if !pathPrefix.isEmpty {
            if isSigned(pathPrefix, isDecoded: true) || hasEscapes && isSigned(pathPrefix, isDecoded: false) { return true }
        }
        writeText(request, [], isDecoded: true, before, after)
        return false
    }

    /// Writes the text that is signed: method, path and query.
    private func writeText(
        _ request: HTTPRequest, _ prefix: [UInt8], isDecoded: Bool, _ before: UnsafeRawBufferPointer,
        _ after: UnsafeRawBufferPointer
    ) {
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: request.method.rawValue.utf8)
        text.append(UInt8(ascii: "\n"))
        text.append(contentsOf: prefix)
        if isDecoded, request.rawPath.contains(UInt8(ascii: "%")) {
            text.append(contentsOf: PercentDecoding.bytes(request.rawPath, .path))
        } else {
            text.append(contentsOf: request.rawPath)
        }
        text.append(UInt8(ascii: "\n"))
        text.append(contentsOf: before)
        text.append(contentsOf: after)
    }

    /// 401, with the text that should have been signed on one line.
    private func invalid(_ signature: UnsafeRawBufferPointer) -> APIError {
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let shown = lines.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\\n")
        let sent = String(decoding: signature, as: UTF8.self)
        return APIError(
            401, "Invalid signature: you should have sent HmacSHA256Hex(\"\(shown)\", your_secret_key), but you sent \"\(sent)\"")
    }

    private static let invalidDigest = APIError(401, "Invalid body_md5: it is not the MD5 of the body received")
}

/// What a signature that is valid says about a request.
package struct SignedHead: Equatable, Sendable {
    /// The MD5 digest that the body must have. Nil if the request has none.
    package let bodyDigest: UInt128?
    /// When the request was signed, in seconds since 1970, by its sender's clock.
    package let timestamp: Int64
    /// The first half of the signature, which identifies the request.
    package let signature: UInt128

    package init(bodyDigest: UInt128?, timestamp: Int64, signature: UInt128) {
        self.bodyDigest = bodyDigest
        self.timestamp = timestamp
        self.signature = signature
    }
}
