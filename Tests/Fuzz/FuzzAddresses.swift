import Addresses

/// Reads any bytes as the start of a connection with the PROXY protocol, and as forwarding fields. Invariants: nothing
/// crashes; the size of the pieces in which a header arrives changes nothing; what a client sends in front of the
/// elements that proxies append has no influence; an address that is read is written as a text that reads back.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzAddresses(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    checkProxyProtocol(bytes)
    checkForwarding(Array(bytes))
    if let address = IPAddress(text: bytes) {
        invariant(IPAddress(address.description) == address, "an address reads back")
    }
    return 0
}

private func checkProxyProtocol(_ bytes: UnsafeRawBufferPointer) {
    let whole = Outcome(bytes, pieceMax: .max)
    invariant(whole == Outcome(bytes, pieceMax: 1), "single bytes give the same result")
    invariant(whole == Outcome(bytes, pieceMax: 7), "pieces give the same result")
    invariant(whole.consumed <= bytes.count, "no more bytes are consumed than there are")
}

private struct Outcome: Equatable {
    var header: ProxyProtocolParser.Header?
    var failure: ProxyProtocolParser.Failure?
    var consumed = 0

    init(_ bytes: UnsafeRawBufferPointer, pieceMax: Int) {
        var parser = ProxyProtocolParser()
        while consumed < bytes.count, header == nil, failure == nil {
            let piece = bytes[consumed...].prefix(pieceMax)
            do throws(ProxyProtocolParser.Failure) {
                let result = try parser.parse(UnsafeRawBufferPointer(rebasing: piece))
                header = result.header
                consumed += result.consumed
            } catch {
                failure = error
                consumed = 0
                return
            }
        }
    }
}

private func checkForwarding(_ forged: [UInt8]) {
    let proxies = TrustedProxies.privateNetworks
    let client = ForwardedClient(address: IPAddress(ipv4: 0xC633_6401), isSecure: true)
    let forwarded = forged + Array(", for=\"198.51.100.1:1\";proto=https, for=10.0.0.2".utf8)
    let (addresses, schemes) = (forged + Array(",198.51.100.1, 10.0.0.2".utf8), forged + Array(",https, http".utf8))
    forwarded.withUnsafeBytes { forwarded in
        var fields = ForwardingFields()
        fields.forwarded = forwarded
        let seen = ForwardedClient(peer: IPAddress(ipv4: 0x7F00_0001), fields, trusting: proxies)
        invariant(seen == client, "Forwarded: what proxies append counts")
    }
    addresses.withUnsafeBytes { addresses in
        schemes.withUnsafeBytes { schemes in
            var fields = ForwardingFields()
            fields.forwardedFor = addresses
            fields.forwardedProto = schemes
            let seen = ForwardedClient(peer: IPAddress(ipv4: 0x7F00_0001), fields, trusting: proxies)
            invariant(seen == client, "X-Forwarded-For: what proxies append counts")
        }
    }
}
