import Access
import FanOut
import Fleet
import PusherProtocol
import Realtime
import Threads

/// What guaranteed delivery needs of an event loop. ``Node`` has sockets and threads; the loops of the simulation have
/// neither, and run the same code.
package protocol ReplayLoop: AnyObject {
    associatedtype Random: RandomNumberGenerator

    var index: Int { get }
    var loopReplay: LoopReplay { get set }
    /// The subscribers on this loop.
    var fanOut: LoopFanOut { get set }
    /// For the payloads of pings.
    var random: Random { get set }
    /// Milliseconds since 1970.
    var unixTime: Int64 { get }
    /// After this time, a notification that no device has confirmed counts as unconfirmed.
    var confirmSeconds: Int { get }

    /// See `Hub.ownership(of:on:)`.
    func ownership(of socket: SocketID, on channel: ChannelName) -> FleetAccess.Ownership?
    /// Applies an input to the hub, then drains this loop's mailbox.
    func apply(_ input: Hub.Input)
    func perform(_ instruction: Instruction)
    /// Queues a message for one connection.
    func fanOutDirect(_ frame: Frame, to socket: SocketID)

    /// Whether the socket takes no more bytes now.
    func isFull(_ socket: SocketID) -> Bool
    /// Writes to the socket.
    func send(_ frame: Frame, to socket: SocketID)

    /// Queues the request for the cursor of a subscription.
    func post(_ request: CursorRequest) -> PostResult
    /// Queues what was written to clients and what they have confirmed.
    func post(_ receipts: [Receipt]) -> PostResult
    /// Queues the request for a page of a replay. Returns false if the queue is full.
    func post(_ request: ReplayRequest) -> Bool
    /// Counts notifications that are sent again, and gaps that are announced.
    func countReplay(notifications: Int, gaps: Int)
    /// Counts receipts that were dropped, because the store's queue was full for long.
    func countDropped(receipts: Int)
}
