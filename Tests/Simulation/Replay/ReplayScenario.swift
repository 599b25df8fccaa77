import Access
import PusherProtocol
import TestSupport

/// The choices that a seed makes before the first step of a delivery world: who is there, and how often what happens.
struct ReplayScenario {
    /// The kinds of steps that a seed weighs.
    enum Kind: CaseIterable {
        case connect, subscribe, unsubscribe, cut, notice
        case read, answer, sendLatePong
        case announce, announceToAll, acknowledge, markRead
        case write, publish, readPages, deliverPages
        case drain, turn, tick
        /// All threads do all that they have to do.
        case round
        /// `wait` lets milliseconds pass, `waitLong` hours, so that notifications expire or become too old.
        case wait, waitLong
        case kill, stop, fill
    }

    /// An app that connects again and again, with the same device.
    struct Client {
        /// Nil: a backend has signed its subscriptions itself.
        let identity: Identity?
        /// Empty: it names none, and shares the cursor of all such clients of the owner.
        let device: String
        /// The channels that it subscribes to.
        let names: [ChannelName]
    }

    let loopCount: Int
    let drivers: [String]
    let clients: [Client]
    /// `delivery.backlog_limit`.
    let backlogLimit: Int
    /// Notifications per page of a replay.
    let pageMax: Int
    /// The bytes that a socket takes before it is full.
    let socketBytes: Int
    /// Of 100 connections, so many answer at once; of the rest a third each late, never, or wrongly.
    let promptPercent: Int
    /// The relative frequency of each kind. A kind that is left out never occurs.
    let weights: [(kind: Kind, weight: Int)]

    init(using dice: inout SplitMix) {
        loopCount = dice.within(1...3)
        drivers = Array(["1", "2"].prefix(dice.within(1...2)))
        clients = Self.clients(of: drivers, using: &dice)
        backlogLimit = dice.within(2...25)
        pageMax = dice.within(1...6)
        socketBytes = dice.within(200...4_000)
        promptPercent = dice.pick([100, 60, 30]) ?? 0
        var weights: [(Kind, Int)] = []
        for kind in Kind.allCases {
            let weight = Self.weight(of: kind, using: &dice)
            if weight > 0 { weights.append((kind, weight)) }
        }
        self.weights = weights
    }

    private static func clients(of drivers: [String], using dice: inout SplitMix) -> [Client] {
        var clients: [Client] = []
        for driver in drivers {
            for _ in 0..<dice.within(1...3) {
                let isSignedByBackend = dice.chance(percent: 10)
                clients.append(
                    Client(
                        identity: isSignedByBackend ? nil : Identity(role: .driver, id: driver),
                        device: isSignedByBackend ? "" : dice.pick(["a", "b", ""]) ?? "",
                        names: names(of: driver, isSignedByBackend: isSignedByBackend, using: &dice)))
            }
        }
        if dice.chance(percent: 30) {
            let names = ["driver-1", "drivers-channel"].compactMap { ChannelName($0, lengthMax: 200) }
            clients.append(Client(identity: Identity(role: .admin, id: "1"), device: "a", names: names))
        }
        return clients
    }

    private static func names(
        of driver: String, isSignedByBackend: Bool, using dice: inout SplitMix
    ) -> [ChannelName] {
        var texts: [String] = []
        let channels = dice.chance(percent: 60) ? ["driver-\(driver)", "drivers-channel"] : ["driver-\(driver)"]
        for channel in channels {
            // A backend signs only names with a prefix.
            let forms = isSignedByBackend ? ["private-"] : dice.pick([[""], ["private-"], ["", "private-"]]) ?? []
            texts += forms.map { $0 + channel }
        }
        return texts.compactMap { ChannelName($0, lengthMax: 200) }
    }

    private static func weight(of kind: Kind, using dice: inout SplitMix) -> Int {
        switch kind {
        case .read, .answer: dice.within(10...40)
        case .write, .publish, .drain, .turn, .readPages, .deliverPages: dice.within(6...30)
        case .connect, .subscribe: dice.within(4...16)
        case .announce: dice.within(5...30)
        case .announceToAll, .sendLatePong, .wait: dice.within(0...8)
        case .tick: dice.within(2...8)
        case .round: dice.within(0...20)
        case .cut, .notice: dice.within(1...4)
        case .unsubscribe: dice.within(0...5)
        case .acknowledge: dice.within(0...5)
        case .markRead: dice.within(0...1)
        case .fill: dice.chance(percent: 50) ? dice.within(1...4) : 0
        case .waitLong, .kill, .stop: dice.chance(percent: 50) ? 1 : 0
        }
    }
}
