import Addresses
import HTTP
import Observability
import PusherProtocol

/// Who a client is, directly or behind proxies, and how many connections its address may have.
extension EventLoop {
    /// Counts a connection of an address.
    /// - Returns: whether the address's limits permit it.
    func admit(_ address: IPAddress) -> Bool {
        switch options.clientLimits.decide(address) {
        case .admitted: return true
        case .connections: delegate.limitReached(.connectionsPerIP)
        case .handshakes: delegate.limitReached(.handshakesPerIP)
        }
        return false
    }

    /// The client of a request, as the trusted proxies state it.
    func client(of request: HTTPRequest, _ slot: Int) -> ForwardedClient {
        let peer = connections[slot].peer
        let isSecure: Bool? = connections[slot].isSecure ? true : nil
        guard options.proxies.contains(peer) else { return ForwardedClient(address: peer, isSecure: isSecure) }
        let (forwarded, forwardedFor, forwardedProto) = (
            Array((request.field(.forwarded) ?? "").utf8), Array((request.field(.xForwardedFor) ?? "").utf8),
            Array((request.field(.xForwardedProto) ?? "").utf8)
        )
        return forwarded.withUnsafeBytes { forwarded in
            forwardedFor.withUnsafeBytes { forwardedFor in
                forwardedProto.withUnsafeBytes { forwardedProto in
                    var fields = ForwardingFields()
                    fields.forwarded = forwarded
                    fields.forwardedFor = forwardedFor
                    fields.forwardedProto = forwardedProto
                    var client = ForwardedClient(peer: peer, fields, trusting: options.proxies)
                    client.isSecure = client.isSecure ?? isSecure
                    return client
                }
            }
        }
    }

    /// The address of the client of a request that has no response yet; nil if its connection has closed.
    package func clientAddress(of request: HTTPRequest, _ id: RequestID) -> IPAddress? {
        pendingResponses[id].map { client(of: request, $0.slot).address }
    }

    /// The address of a WebSocket's client, and the bytes that wait for its socket; nil if it is closed.
    package func client(of socket: SocketID) -> (address: IPAddress, outboxBytes: Int)? {
        guard connections.phase(of: socket) != nil else { return nil }
        return (connections[socket.slot].peer, outboxes.bytes(socket.slot))
    }

    /// Counts a WebSocket whose client is behind a proxy. Connections that do not come from a proxy were counted when
    /// they were accepted. The other requests of a proxy are not counted: many clients share its connections.
    /// - Returns: false if the limits of the client's address do not permit the WebSocket.
    func admitForwarded(_ client: ForwardedClient, _ slot: Int) -> Bool {
        guard !connections[slot].isCounted, !options.proxies.contains(client.address) else { return true }
        guard admit(client.address) else { return false }
        connections[slot].peer = client.address
        connections[slot].isCounted = true
        return true
    }

    /// Whether a request comes from this machine. A loopback address does not identify a local client if a proxy on this
    /// machine forwards remote requests. A proxy that the configuration does not mention gives itself away by its fields.
    func isLoopback(_ head: RequestHead, _ slot: Int) -> Bool {
        let peer = connections[slot].peer
        return peer.isLoopback && !options.proxies.contains(peer) && head[.xForwardedFor] == nil && head[.forwarded] == nil
            && head[.xForwardedProto] == nil && head[.xRealIP] == nil
    }

    /// Whether the client of a request uses TLS. Only asked for the cookies of web pages: a proxy's fields are not read for other
    /// requests.
    func isSecure(_ request: HTTPRequest, _ slot: Int) -> Bool {
        if options.certificates != nil { return true }
        guard request.head[.cookie] != nil, request.head[.origin] != nil else { return false }
        return client(of: request, slot).isSecure == true
    }

    // MARK: PROXY protocol

    /// Reads the header with which the load balancer begins a connection; what follows it is HTTP. Closes the connection
    /// if it does not begin with such a header, or does not come from a trusted proxy, because any client could forge it.
    func proxyBytesReceived(_ bytes: UnsafeMutableRawBufferPointer, _ slot: Int) {
        guard options.proxies.contains(connections[slot].peer) else { return refuseProxyHeader(slot, .untrustedPeer) }
        var parser = proxyParsers.removeValue(forKey: slot) ?? ProxyProtocolParser()
        do throws(ProxyProtocolParser.Failure) {
            let (header, consumed) = try parser.parse(UnsafeRawBufferPointer(bytes))
            guard let header else {
                proxyParsers[slot] = parser
                return
            }
            connections[slot].isSecure = header.isSecure == true
            if let source = header.source {
                connections[slot].peer = source
                // Another proxy: the requests name its clients.
                if !options.proxies.contains(source) {
                    guard admit(source) else { return drop(slot) }
                    connections[slot].isCounted = true
                }
            }
            connections[slot].phase = .http
            if consumed < bytes.count {
                requestBytesReceived(UnsafeMutableRawBufferPointer(rebasing: bytes[consumed...]), slot)
            }
        } catch {
            refuseProxyHeader(slot, ProxyHeaderRefusal(error, UnsafeRawBufferPointer(bytes)))
        }
    }

    private func refuseProxyHeader(_ slot: Int, _ reason: ProxyHeaderRefusal) {
        delegate.proxyHeaderRefused(by: connections[slot].peer, reason)
        drop(slot)
    }
}
