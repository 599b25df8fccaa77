/// Reads the header with which a load balancer begins a TCP connection to tell the client's address, and whether the client
/// uses TLS: the PROXY protocol, version 2 (binary), https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt section 2.2.
///
/// The header may arrive in any number of pieces. It is at most 65,551 bytes long, of which at most 52 are kept. Accept
/// it only from trusted peers, because any client could forge it.
package struct ProxyProtocolParser: Sendable {
    /// Why the bytes are not such a header. The connection must be closed.
    package enum Failure: Error, Equatable {
        /// The connection does not begin with the signature.
        case signature
        /// The version is not 2.
        case version(UInt8)
        /// The command is neither LOCAL nor PROXY.
        case command(UInt8)
        /// The address family or the transport is not defined.
        case family(UInt8)
        /// The header is shorter than the addresses of its family.
        case length(Int)
    }

    /// A complete header.
    package struct Header: Equatable, Sendable {
        /// The client's address; nil if the header states none, so that the peer's address is the client's: a health
        /// check of the load balancer (LOCAL), or another family than IPv4 and IPv6.
        package let source: IPAddress?
        /// Whether the client uses TLS with the load balancer (PP2_TYPE_SSL, section 2.2.6); nil if the header does not say.
        package var isSecure: Bool?
    }

    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    /// The length of signature, version and command, family and transport, and length.
    private static let fixedLength = 16

    /// The bytes up to the end of the source and destination addresses.
    private var head: [UInt8] = []
    /// The bytes that are still to come: addresses of other families, and extensions (TLVs).
    private var left = 0
    private var extensions = Extensions()
    /// Set once all addresses are read.
    private var header: Header?

    package init() {}

    /// Reads the next bytes of the connection. Do not call it again after it has returned a header or thrown.
    /// - Returns: the header, once it is complete, and the number of bytes that belong to it. The bytes behind it are the
    ///   client's.
    package mutating func parse(
        _ bytes: UnsafeRawBufferPointer
    ) throws(Failure) -> (header: Header?, consumed: Int) {
        var rest = bytes[...]
        while header == nil, let byte = rest.popFirst() {
            head.append(byte)
            try checkHead()
        }
        let tail = rest.prefix(left)
        left -= tail.count
        if !isLocal { extensions.read(UnsafeRawBufferPointer(rebasing: tail)) }
        let consumed = bytes.count - rest.count + tail.count
        guard left == 0, var header else { return (nil, consumed) }
        header.isSecure = extensions.isSecure
        return (header, consumed)
    }

    /// Checks the byte that was appended last, so that a connection of another protocol fails at once.
    private mutating func checkHead() throws(Failure) {
        let last = head[head.count - 1]
        switch head.count {
        case 1...12: guard last == Self.signature[head.count - 1] else { throw .signature }
        case 13:
            guard last >> 4 == 2 else { throw .version(last >> 4) }
            guard last & 0xF <= 1 else { throw .command(last & 0xF) }
        case 14: guard last >> 4 <= 3, last & 0xF <= 2 else { throw .family(last) }
        case Self.fixedLength...:
            guard announcedLength >= addressesLength else { throw .length(announcedLength) }
            guard head.count == Self.fixedLength + addressesLength else { return }
            header = Header(source: source)
            left = announcedLength - addressesLength
            let isUnix = head[13] >> 4 == 3
            extensions = Extensions(behind: isUnix ? Self.unixAddressesLength : 0)
        default: break
        }
    }

    /// Two addresses of 108 bytes (section 2.2). They are skipped.
    private static let unixAddressesLength = 216

    /// Whether the load balancer speaks for itself: a health check. Nothing else in the header counts.
    private var isLocal: Bool { head.count > 12 && head[12] & 0xF == 0 }

    /// The number of bytes behind the fixed part.
    private var announcedLength: Int { Int(head[14]) << 8 | Int(head[15]) }

    /// The length of both addresses and ports; 0 if the header states no address that is used.
    private var addressesLength: Int {
        switch (isLocal, head[13] >> 4) {
        case (false, 1): return 12  // two addresses of 4 bytes, two ports
        case (false, 2): return 36  // two addresses of 16 bytes, two ports
        default: return 0
        }
    }

    private var source: IPAddress? {
        let length = (addressesLength - 4) / 2
        guard length > 0 else { return nil }
        return head.withUnsafeBytes {
            IPAddress(networkOrder: UnsafeRawBufferPointer(rebasing: $0[Self.fixedLength..<Self.fixedLength + length]))
        }
    }
}

extension ProxyProtocolParser {
    /// The extensions of a header, each a type, a length of two bytes, and a value (section 2.2). Only the client's TLS is
    /// read. One whose length reaches beyond the header ends the reading, and changes nothing else: only trusted peers send
    /// headers.
    private struct Extensions {
        /// PP2_TYPE_SSL. Its value begins with a byte of flags.
        private static let tls: UInt8 = 0x20
        /// PP2_CLIENT_SSL: the client uses TLS.
        private static let clientFlag: UInt8 = 0x01

        private var type: UInt8 = 0
        private var length = 0
        /// The number of bytes that are read of the present extension; 0: the next byte is a type.
        private var readCount = 0
        /// The bytes to skip before the next extension.
        private var skipping: Int
        private(set) var isSecure: Bool?

        /// - Parameter count: the bytes in front of the first extension.
        init(behind count: Int = 0) { skipping = count }

        mutating func read(_ bytes: UnsafeRawBufferPointer) {
            var rest = bytes[...]
            while true {
                let skipped = min(skipping, rest.count)
                rest = rest.dropFirst(skipped)
                skipping -= skipped
                guard let byte = rest.popFirst() else { return }
                read(byte)
            }
        }

        private mutating func read(_ byte: UInt8) {
            readCount += 1
            switch readCount {
            case 1: type = byte
            case 2: length = Int(byte) << 8
            case 3:
                length += Int(byte)
                if type != Self.tls || length == 0 { end(skipping: length) }
            default:
                isSecure = byte & Self.clientFlag != 0
                end(skipping: length - 1)
            }
        }

        private mutating func end(skipping count: Int) { (readCount, skipping) = (0, count) }
    }
}
