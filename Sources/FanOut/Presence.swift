import Primitives
import PusherProtocol

/// The members of a presence channel: users, each with one or more connections (protocol point R4).
struct Presence {
    /// In the order of joining.
    private(set) var members: [PresenceMember] = []
    /// The number of each member's connections, by user id.
    private var connectionCounts: [Identifier: Int] = [:]

    var count: Int { members.count }

    func contains(_ userID: String) -> Bool { connectionCounts[Identifier(userID)] != nil }

    /// Adds a connection of the user. Returns true if it is the user's first. A later connection does not change the
    /// member's info.
    mutating func join(_ member: PresenceMember) -> Bool {
        let id = Identifier(member.id)
        connectionCounts[id, default: 0] += 1
        guard connectionCounts[id] == 1 else { return false }
        members.append(member)
        return true
    }

    /// Removes a connection of the user. Returns true if it was the user's last.
    mutating func leave(_ userID: String) -> Bool {
        let id = Identifier(userID)
        guard let count = connectionCounts[id] else { preconditionFailure("a user leaves a channel without having joined") }
        connectionCounts[id] = count > 1 ? count - 1 : nil
        guard count == 1 else { return false }
        members.removeAll { Identifier($0.id) == id }
        return true
    }
}
