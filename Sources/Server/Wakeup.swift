import CLibev

/// A loop's libev half and the one thing another thread may do to it: wake it.
///
/// Made before the loop's thread and freed after it, so that a late wake-up finds something to wake.
package final class Wakeup: Sendable {
    // Pointers as integers, because pointers are not Sendable. libev documents ev_async_send as safe from any thread;
    // everything else is done by the loop's own thread.
    private let loopAddress: UInt
    private let asyncAddress: UInt

    package init() {
        guard let loop = ev_loop_new(UInt32(EVFLAG_AUTO)) else {
            fatalError("ev_loop_new: no descriptors or memory for an event loop")  // nothing could run, not even the refusal
        }
        loopAddress = UInt(bitPattern: loop)
        asyncAddress = UInt(bitPattern: UnsafeMutablePointer<ev_async>.allocate(capacity: 1))
    }

    deinit {
        ev_loop_destroy(loop)
        async.deallocate()
    }

    /// Makes the loop's thread run its `woken` soon. Calls before that are one call.
    package func signal() { ev_async_send(loop, async) }

    var loop: OpaquePointer { OpaquePointer(bitPattern: loopAddress)! }  // made from a pointer that was not nil

    private var async: UnsafeMutablePointer<ev_async> { UnsafeMutablePointer(bitPattern: asyncAddress)! }  // likewise

    /// Starts watching, before the loop runs and before anybody else knows it.
    func start(_ callback: clibev_async_callback?, data: UnsafeMutableRawPointer) {
        clibev_async_init(async, callback, data)
        ev_async_start(loop, async)
    }

    func stop() { ev_async_stop(loop, async) }
}
