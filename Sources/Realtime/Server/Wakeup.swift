import CLibev

/// A libev loop, and the only operation on it that other threads may call: ``signal()``.
///
/// It is created before the loop's thread starts and freed after that thread has ended, so that a late signal is safe.
package final class Wakeup: Sendable {
    // Pointers, stored as integers because pointers are not Sendable. libev documents ev_async_send as safe from any
    // thread; while the loop's thread runs, only that thread calls other functions of libev.
    private let loopAddress: UInt
    private let asyncAddress: UInt

    /// Creates the libev loop. Terminates the process if no descriptor or memory is available.
    package init() {
        guard let loop = ev_loop_new(UInt32(EVFLAG_AUTO)) else {
            // The process has just started and cannot serve without its loops, so no caller could recover.
            fatalError("cannot create an event loop: no descriptors or no memory left")
        }
        loopAddress = UInt(bitPattern: loop)
        let async = UnsafeMutablePointer<ev_async>.allocate(capacity: 1)
        clibev_async_init(async, nil, nil)
        asyncAddress = UInt(bitPattern: async)
    }

    deinit {
        ev_loop_destroy(loop)
        async.deallocate()
    }

    /// Makes the loop call ``EventLoopDelegate/performMessages(until:)`` soon. Several signals before that call count as
    /// one. A signal that comes before the loop runs is not lost: the loop begins with that call.
    package func signal() { ev_async_send(loop, async) }

    // Unwrapping is safe: the addresses come from non-nil pointers.
    var loop: OpaquePointer { OpaquePointer(bitPattern: loopAddress)! }
    private var async: UnsafeMutablePointer<ev_async> { UnsafeMutablePointer(bitPattern: asyncAddress)! }

    /// Registers the callback, and signals once: `ev_async_start` forgets earlier signals. Call it before the loop runs.
    func start(_ callback: clibev_async_callback?, data: UnsafeMutableRawPointer) {
        clibev_async_init(async, callback, data)
        ev_async_start(loop, async)
        signal()
    }

    func stop() { ev_async_stop(loop, async) }
}
