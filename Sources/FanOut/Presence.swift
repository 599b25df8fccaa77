import Primitives
import PusherProtocol

/// The members of a presence channel: users, each with one or more connections (protocol point R4).
struct Presence {
    /// In the order of joining.
    private(set) var members: [PresenceMember] = []
    private var connections: [Identifier: Int] = [:]

    var count: Int { members.count }

    func contains(_ userID: String) -> Bool { connections[Identifier(userID)] != nil }

    /// Returns true for the user's first connection. Later ones do not change the member's info.
    mutating func join(_ member: PresenceMember) -> Bool {
        let id = Identifier(member.id)
        connections[id, default: 0] += 1
        guard connections[id] == 1 else { return false }
        members.append(member)
        return true
    }

    /// Returns true for the user's last connection.
    mutating func leave(_ userID: String) -> Bool {
        let id = Identifier(userID)
        guard let count = connections[id] else { preconditionFailure("a leave without its join") }
        connections[id] = count > 1 ? count - 1 : nil
        guard count == 1 else { return false }
        members.removeAll { Identifier($0.id) == id }
        return true
    }
}
