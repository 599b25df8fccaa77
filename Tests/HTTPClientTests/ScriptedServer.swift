import Glibc

/// An HTTP/1.1 server that runs on the test's thread, in ``step()``. Its script chooses the response to each request.
final class ScriptedServer {
    enum Response {
        /// Send these bytes, and keep the connection.
        case bytes(String)
        /// Send these bytes, and close the connection.
        case last(String)
        /// Send nothing, and keep the connection.
        case silence
    }

    /// The number of connections accepted so far.
    private(set) var connectionCount = 0
    /// The complete requests received so far, with head and body.
    private(set) var requests: [String] = []

    private let listener = LoopbackListener(isNonBlocking: true)
    private var connections: [(descriptor: Int32, received: [UInt8])] = []
    private let script: (String) -> Response

    /// - Parameter script: returns the response to a request, given as its head and body.
    init(_ script: @escaping (String) -> Response) { self.script = script }

    deinit {
        for connection in connections { close(connection.descriptor) }
        listener.stop()
    }

    var port: Int { listener.port }
    var url: String { listener.url }

    /// Accepts connections, reads from them without blocking, and responds to the requests that are complete.
    func step() {
        while true {
            let descriptor = accept(listener.descriptor, nil, nil)
            guard descriptor >= 0 else { break }
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
            connectionCount += 1
            connections.append((descriptor, []))
        }
        for index in connections.indices.reversed() where !serve(&connections[index]) { connections.remove(at: index) }
    }

    /// Reads from a connection and responds to its complete requests. Returns false if the connection is now closed.
    private func serve(_ connection: inout (descriptor: Int32, received: [UInt8])) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = read(connection.descriptor, &chunk, chunk.count)
        if count > 0 { connection.received += chunk[..<count] }
        var isOpen = count > 0 || (count < 0 && errno == EAGAIN)
        while isOpen, let request = Self.removeRequest(&connection.received) {
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

    /// Removes and returns the first request; nil if it is incomplete.
    private static func removeRequest(_ received: inout [UInt8]) -> String? {
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
