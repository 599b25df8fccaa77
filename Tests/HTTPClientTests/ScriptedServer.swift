import Glibc

/// An HTTP/1.1 server on the test's thread. It responds as its script says, in ``step()``.
final class ScriptedServer {
    enum Response {
        /// Send these bytes, and keep the connection.
        case bytes(String)
        /// Send these bytes, and close the connection.
        case last(String)
        case silence
    }

    let port: Int
    private(set) var connectionCount = 0
    /// Complete requests, as received.
    private(set) var requests: [String] = []

    private let listener: Int32
    private var connections: [(descriptor: Int32, received: [UInt8])] = []
    private let script: (String) -> Response

    init(_ script: @escaping (String) -> Response) {
        self.script = script
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 100) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        precondition(isBound, "a listener on 127.0.0.1: error \(errno)")
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit {
        for connection in connections { close(connection.descriptor) }
        close(listener)
    }

    var url: String { "http://127.0.0.1:\(port)" }

    /// Reads, and responds to complete requests.
    func step() {
        while true {
            let descriptor = accept(listener, nil, nil)
            guard descriptor >= 0 else { break }
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            connectionCount += 1
            connections.append((descriptor, []))
        }
        for index in connections.indices.reversed() where !serve(&connections[index]) { connections.remove(at: index) }
    }

    /// Returns false if the connection is closed.
    private func serve(_ connection: inout (descriptor: Int32, received: [UInt8])) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = read(connection.descriptor, &chunk, chunk.count)
        if count > 0 { connection.received += chunk[..<count] }
        var isOpen = count > 0 || (count < 0 && errno == EAGAIN)
        while isOpen, let request = Self.takeRequest(&connection.received) {
            requests.append(request)
            switch script(request) {
            case .bytes(let text): send(text, to: connection.descriptor)
            case .last(let text):
                send(text, to: connection.descriptor)
                isOpen = false
            case .silence: break
            }
        }
        if !isOpen { close(connection.descriptor) }
        return isOpen
    }

    private func send(_ text: String, to descriptor: Int32) { _ = write(descriptor, text, text.utf8.count) }

    private static func takeRequest(_ received: inout [UInt8]) -> String? {
        let text = String(decoding: received, as: UTF8.self)
        guard let headEnd = text.firstRange(of: "\r\n\r\n") else { return nil }
        var bodyBytes = 0
        for line in text[..<headEnd.lowerBound].split(separator: "\r\n") where line.lowercased().hasPrefix("content-length: ") {
            bodyBytes = Int(line.dropFirst(16)) ?? 0
        }
        let wholeBytes = text[..<headEnd.upperBound].utf8.count + bodyBytes
        guard received.count >= wholeBytes else { return nil }
        let request = String(decoding: received[..<wholeBytes], as: UTF8.self)
        received.removeFirst(wholeBytes)
        return request
    }
}
