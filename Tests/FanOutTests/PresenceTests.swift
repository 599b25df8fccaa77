import PusherProtocol
import TestSupport
import Testing

@testable import FanOut

@Suite("The members of a presence channel")
struct PresenceTests {
    @Test("stay in the order of joining while others leave and come back", arguments: 1...20)
    func order(seed: UInt64) {
        var dice = SplitMix(seed: seed)
        var (presence, model) = (Presence(), [String]())
        for _ in 0..<500 {
            let id = "user-\(dice.below(30))"
            if let index = model.firstIndex(of: id) {
                model.remove(at: index)
                #expect(presence.leave(id).isEdge)
            } else {
                model.append(id)
                #expect(presence.join(PresenceMember(id: id)).isEdge)
            }
            #expect(presence.members.map(\.id) == model && presence.userIDs == model && presence.count == model.count)
        }
    }

    @Test("are those who have connections, on this node or on others, also while some leave", arguments: 1...20)
    func nodes(seed: UInt64) {
        var dice = SplitMix(seed: seed)
        var (presence, local, elsewhere) = (Presence(), [String: Int](), Set<String>())
        for step in Int64(1)...500 {
            let id = "user-\(dice.below(5))"
            switch dice.below(5) {
            case 0:
                _ = presence.join(PresenceMember(id: id))
                local[id, default: 0] += 1
            case 1:
                _ = presence.joinElsewhere(PresenceMember(id: id))
                elsewhere.insert(id)
            case 2 where local[id, default: 0] > 0:
                _ = presence.leave(id, departure: step)
                local[id, default: 0] -= 1
            case 3 where elsewhere.contains(id):
                _ = presence.leaveElsewhere(id, departure: step)
                elsewhere.remove(id)
            default: _ = presence.settle(id, departure: step - Int64(dice.below(5)))
            }
            let members = elsewhere.union(local.filter { $0.value > 0 }.keys)
            #expect(presence.count == members.count && presence.userIDs.sorted() == members.sorted())
        }
    }
}
