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
}
