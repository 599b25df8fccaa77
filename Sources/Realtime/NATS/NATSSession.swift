import CNats
import Glibc
import Synchronization
import Threads

/// One connection to one server, from connecting to its loss.
///
/// cnats is used as for an event loop, whose only thread is the connection's: cnats then never blocks in a write, and
/// sends what it has when it is told to, once per turn. Otherwise it has the choice between a write per message and its
/// flusher, which delays every message by 1 ms. It does not reconnect by itself: its buffer for the time of reconnecting
/// cannot be switched off, so a publish could arrive seconds late. It does not look for dead connections by itself either
/// (``Acknowledger`` does), because it would free the TLS state on another thread while this one reads.
final class NATSSession: Sendable {
    let number: Int
    /// Why the session was ended by this side.
    private let verdict = Lock<String?>(nil)
    /// -1 before connecting, and from before the socket is closed.
    private let socket = Lock<Int32>(-1)
    private let hasBytes = Atomic(false)
    private let wakeUp: WakeUp
    /// The thread that connects, reads and writes.
    private let owner = pthread_self()
    /// The natsConnection as a number, because pointers are not Sendable; 0 before connecting.
    private let address = Atomic<UInt>(0)
    /// Whether the thread is busy with reporting events, so that it does not read.
    let isReporting = Atomic(false)

    /// - Parameter number: distinguishes it from other sessions of the same connection.
    init(number: Int, wakeUp: WakeUp) {
        self.number = number
        self.wakeUp = wakeUp
    }

    deinit {
        // Closed by `close()`, so no callback refers to `self` any more.
        if let handle = OpaquePointer(bitPattern: address.load(ordering: .relaxed)) { natsConnection_Destroy(handle) }
    }

    private var handle: OpaquePointer {
        guard let handle = OpaquePointer(bitPattern: address.load(ordering: .acquiring)) else {
            preconditionFailure("the session is not connected")
        }
        return handle
    }

    // MARK: Of the thread that connects

    /// Connects to a server, and blocks meanwhile.
    /// - Returns: nil, or what went wrong.
    func connect(_ server: ServerAddress, _ options: NATSConnection.Options, errorRoute: UInt) -> String? {
        let prepared = ConnectOptions(server, options)
        guard let prepared = prepared.handle else { return prepared.problem }
        defer { natsOptions_Destroy(prepared) }
        natsOptions_SetEventLoop(
            prepared, Unmanaged.passUnretained(self).toOpaque(), Self.attach, Self.setReading, Self.setWriting, Self.detach)
        natsOptions_SetErrorHandler(prepared, ErrorRoutes.handler, UnsafeMutableRawPointer(bitPattern: errorRoute))
        var handle: OpaquePointer?
        let status = natsConnection_Connect(&handle, prepared)
        guard status == NATS_OK, let handle else { return ConnectOptions.problem(status) }
        address.store(UInt(bitPattern: handle), ordering: .releasing)
        return nil
    }

    /// The largest payload that the server accepts.
    var payloadMax: Int { Int(natsConnection_GetMaxPayload(handle)) }

    /// Whether the connection is lost.
    var isClosed: Bool { natsConnection_IsClosed(handle) }

    /// The bytes that have not yet been handed to the kernel.
    var bufferedBytes: Int { Int(natsConnection_Buffered(handle)) }

    /// Whether bytes wait to be written.
    var wantsToWrite: Bool { hasBytes.load(ordering: .relaxed) }

    /// The socket for `poll`; -1 if it is closed.
    var descriptor: Int32 { socket.withLock { $0 } }

    /// Buffers a message. ``write()`` sends it.
    func publish(_ subject: String, _ payload: [UInt8]) -> Bool {
        payload.withUnsafeBytes { bytes in
            natsConnection_Publish(handle, subject, bytes.baseAddress, Int32(bytes.count)) == NATS_OK
        }
    }

    /// Buffers a subscription. ``write()`` sends it.
    func subscribe(_ subject: String, token: UInt64, inbox: Inbox) -> OpaquePointer? {
        let (subscription, status) = SubscriptionContext(token: token, session: number, inbox: inbox).subscribe(handle, subject)
        assert(status != NATS_INVALID_SUBJECT, "invalid subject \(subject)")
        return subscription
    }

    /// Reads once, without blocking on a plain connection. With TLS it may wait for the rest of a record.
    func read() { natsConnection_ProcessReadEvent(handle) }

    /// Writes what is buffered, as far as the kernel takes it.
    func write() { natsConnection_ProcessWriteEvent(handle) }

    /// Disconnects, if that has not happened.
    func close() { natsConnection_Close(handle) }

    /// Why the connection is lost.
    var reason: String { verdict.withLock { $0 } ?? Self.lastError(handle) ?? "the server closed the connection" }

    // MARK: Of any thread

    /// Sends a PING and waits for its PONG, which the other thread must read. `NATS_OK` says that the server has handled
    /// everything buffered before.
    func flush(milliseconds: Int64) -> natsStatus {
        // cnats does not check whether the PING could be buffered, but with an event loop that cannot fail.
        natsConnection_FlushTimeout(handle, milliseconds)
    }

    /// Declares the connection lost. The other thread notices it by reading.
    func lose(_ reason: String) {
        verdict.withLock { $0 = $0 ?? reason }
        socket.withLock { socket in
            if socket >= 0 { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    /// What cnats says about a connection; nil if it says nothing.
    static func lastError(_ handle: OpaquePointer) -> String? {
        var text: UnsafePointer<CChar>?
        let status = natsConnection_GetLastError(handle, &text)
        if let text, text.pointee != 0 { return ConnectOptions.message(String(cString: text)) }
        guard status != NATS_OK, status != NATS_CONNECTION_CLOSED else { return nil }
        return String(cString: natsStatus_GetText(status)).lowercased()
    }

    // MARK: cnats's callbacks, which it calls with the connection locked

    private static func session(_ data: UnsafeMutableRawPointer?) -> NATSSession? {
        data.map { Unmanaged<NATSSession>.fromOpaque($0).takeUnretainedValue() }
    }

    private static let attach: natsEvLoop_Attach = { data, loop, _, socket in
        data?.pointee = loop
        session(loop)?.socket.withLock { $0 = socket }
        return NATS_OK
    }

    private static let setReading: natsEvLoop_ReadAddRemove = { data, isAdded in
        // Removed only just before the socket is closed.
        if !isAdded { session(data)?.socket.withLock { $0 = -1 } }
        return NATS_OK
    }

    private static let setWriting: natsEvLoop_WriteAddRemove = { data, isAdded in
        guard let session = session(data) else { return NATS_OK }
        session.hasBytes.store(isAdded, ordering: .relaxed)
        if isAdded, pthread_self() != session.owner { session.wakeUp.signal() }
        return NATS_OK
    }

    private static let detach: natsEvLoop_Detach = { _ in NATS_OK }
}
