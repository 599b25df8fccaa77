import Glibc
import Synchronization
import Threads

/// Forwards TCP connections to a port of 127.0.0.1 and delays all bytes, in both directions, as a far network does.
final class DelayingProxy: Sendable {
    let port: Int
    private let listener: Int32
    private let isStopped = Atomic(false)
    private let threads = Lock<[Thread]>([])
    private let delay: Int64

    init(to target: Int, milliseconds: Int64) {
        delay = milliseconds
        (listener, port) = Self.listen()
        let thread = Thread(name: "proxy") { [self] in
            while let (client, server) = accept(target) {
                start(from: client, to: server)
                start(from: server, to: client)
            }
        }
        threads.withLock { $0.append(thread) }
    }

    var url: String { "nats://127.0.0.1:\(port)" }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
        shutdown(listener, Int32(SHUT_RDWR))
        while let thread = threads.withLock({ $0.popLast() }) { thread.join() }
        close(listener)
    }

    private static func listen() -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && Glibc.listen(descriptor, 10) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        precondition(isListening, "the proxy cannot listen: errno \(errno)")
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    private static func loopback(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private func accept(_ target: Int) -> (Int32, Int32)? {
        let client = Glibc.accept(listener, nil, nil)
        guard client >= 0 else { return nil }
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.loopback(target)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        precondition(result == 0, "the proxy cannot connect: errno \(errno)")
        return (client, server)
    }

    private func start(from source: Int32, to sink: Int32) {
        // Each thread closes its own descriptor, and not before it has shut the other one down.
        let (source, sink) = (dup(source), dup(sink))
        let thread = Thread(name: "proxy") { [self] in
            forward(from: source, to: sink)
            shutdown(sink, Int32(SHUT_RDWR))
            shutdown(source, Int32(SHUT_RDWR))
            close(source)
            close(sink)
        }
        threads.withLock { $0.append(thread) }
    }

    private func forward(from source: Int32, to sink: Int32) {
        var waiting: [(due: Int64, bytes: ArraySlice<UInt8>)] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while !isStopped.load(ordering: .relaxed) {
            let now = Clock.monotonicMilliseconds()
            while let first = waiting.first, first.due <= now {
                _ = first.bytes.withUnsafeBytes { send(sink, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                waiting.removeFirst()
            }
            var descriptor = pollfd(fd: source, events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, waiting.first.map { Int32($0.due - now) } ?? 100) > 0 else { continue }
            let count = read(source, &buffer, buffer.count)
            guard count > 0 else { return }
            waiting.append((Clock.monotonicMilliseconds() + delay, buffer[..<count]))
        }
    }
}
