import Fleet
import PusherProtocol

/// A fault that a test plants in a delivery world, to prove that its checkers find it.
package struct ReplayFault {
    /// Changes the receipts that a loop posts.
    package var receipts: ([Receipt]) -> [Receipt] = { $0 }
    /// Whether a loop posts its receipts when it ends.
    package var postsAtEnd = true
    /// Whether receipts that a full disk refuses are written later.
    package var keepsRefused = true
    /// Changes the cursor with which the store replies to a subscription.
    package var cursor: (CursorReply) -> Int64 = { $0.cursor }
    /// Changes a page that the store has read.
    package var page: (ReplayRequest, ReplayPage) -> ReplayPage = { $1 }
    /// Changes the connections that do not get a live notification.
    package var excluded: ((Set<Int>) -> Set<Int>)?
    /// Whether a loop loses a live notification.
    package var loses: (_ sequence: Int64) -> Bool = { _ in false }
    /// Changes what is written to a socket.
    package var write: ([UInt8]) -> [UInt8] = { $0 }
    /// Changes the random numbers of ping payloads.
    package var random: (UInt64) -> UInt64 = { $0 }
    /// Whether the successful write of a ping counts as its pong.
    package var writesConfirm = false

    /// No fault.
    package init() {}
}
