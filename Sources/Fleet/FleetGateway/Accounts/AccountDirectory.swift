import Fleet
import Primitives
import Threads

/// The states of all drivers' accounts in memory, so that each request can be decided by the newest one.
///
/// The writer's thread records a change after its commit and before its reply: who has the reply finds the change in
/// force. Loops read on their own threads.
final class AccountDirectory: Sendable {
    private let entries = Lock<[Identifier: AccountEntry]>([:])

    /// The account of a Firebase user; nil if there is none.
    func entry(ofUser uid: String) -> AccountEntry? { entries.withLock { $0[Identifier(uid)] } }

    func record(_ change: AccountChange) { entries.withLock { $0[Identifier(change.uid)] = change.entry } }
}
