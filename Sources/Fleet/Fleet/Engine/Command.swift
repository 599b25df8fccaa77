import Access

/// A write to the store. Each stands with its feature: all there is to it is in one type.
///
/// The writer's thread executes it in a transaction. The command, the stored state and the time determine the result.
package protocol Command: Equatable, Sendable {
    /// The command's name in metrics and in the operator's log. It is also the action of the command's notifications in
    /// the notification log if the command writes no audit entry. Commands that differ in a word only share a type.
    var name: String { get }
    /// When the command leaves the writer's queue, compared with others.
    var priority: RequestPriority { get }
    /// The entity that the command changes, for the log. It must not be a secret.
    var subject: String { get }
    /// The most rows that the command writes. Debug builds check it: see `RowBound`.
    var rows: Int { get }
    /// Who gives the command.
    var origin: CommandOrigin { get }
    /// The token of the replies that are deferred until this command has its own (``CommandReply/deferred(_:)``); nil: none.
    var resolvedToken: String? { get }
    /// How many commands it counts as in the rate of its sender.
    var tokens: Int { get }

    /// Says what the command reads whatever the state is, so that a server gets all of it in one message.
    func prefetch(_ transaction: Transaction) throws(DatabaseError)

    /// Reads the state, decides, writes.
    /// - Returns: ``CommandReply/committed(_:)`` or ``CommandReply/deferred(_:)``, or ``CommandReply/rejected(_:)`` if a rule
    ///   forbids it.
    func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply
}

extension Command {
    package var priority: RequestPriority { .personal }
    package var subject: String { "" }
    package var origin: CommandOrigin { .actor }
    package var resolvedToken: String? { nil }
    package var tokens: Int { 1 }
    package func prefetch(_ transaction: Transaction) throws(DatabaseError) {}

    /// Whether the other command is of the same type, and equal.
    package func isEqual(to other: any Command) -> Bool { other as? Self == self }
}

/// Who gives a command. It counts towards a sender's limits only if its actor has sent it.
package enum CommandOrigin: Equatable, Sendable {
    /// The actor, by a request, or the gateway in a name of its own.
    case actor
    /// A client without a token. Its address has a limit.
    case anybody
    /// A part of the gateway, with this name in the log, in the name of the actor or of nobody.
    case gateway(String)
    /// As ``gateway(_:)``; somebody waits for the result of what was accepted before, so the queue keeps a place for it.
    case awaited(String)

    var isAwaited: Bool { if case .awaited = self { true } else { false } }
}
