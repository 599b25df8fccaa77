import CLibev

/// A libev loop with the one operation that other threads may call: waking it.
///
/// Created before the loop's thread and freed after it, so that a late wake-up is safe.
package final class Wakeup: Sendable {
    // Stored as integers, because pointers are not Sendable. libev documents ev_async_send as safe from any thread;
    // only the loop's thread calls everything else.
    private let loopAddress: UInt
    private let asyncAddress: UInt

    /// Creates the libev loop. Terminates the process if no descriptor or memory is available.
    package init() {
        guard let loop = ev_loop_new(UInt32(EVFLAG_AUTO)) else {
            fatalError("ev_loop_new: no descriptors or memory for an event loop")  // without a loop no error can be reported
        }
        loopAddress = UInt(bitPattern: loop)
        asyncAddress = UInt(bitPattern: UnsafeMutablePointer<ev_async>.allocate(capacity: 1))
    }

    deinit {
        ev_loop_destroy(loop)
        async.deallocate()
    }

    /// Makes the loop call ``EventLoopDelegate/woken()`` soon. Several signals before that count as one.
    package func signal() { ev_async_send(loop, async) }

    var loop: OpaquePointer { OpaquePointer(bitPattern: loopAddress)! }  // made from a non-nil pointer

    private var async: UnsafeMutablePointer<ev_async> { UnsafeMutablePointer(bitPattern: asyncAddress)! }  // likewise

    /// Registers the callback. Call it before the loop runs and before other threads can signal.
    func start(_ callback: clibev_async_callback?, data: UnsafeMutableRawPointer) {
        clibev_async_init(async, callback, data)
        ev_async_start(loop, async)
    }

    func stop() { ev_async_stop(loop, async) }
}
