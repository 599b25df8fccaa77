import FanOut
import PusherProtocol
import Testing

@testable import Cluster

@Suite("Watchlists across nodes")
struct WatchlistTests {
    /// Two nodes whose bus delivers at once.
    private struct Pair {
        var links: [ClusterLink]
        var hubInputs: [[Hub.Input]] = [[], []]
        private var subjects: [[String: UInt64]] = [[:], [:]]

        init() {
            links = (1...2).map { number in
                ClusterLink(
                    name: "test", node: ClusterNode(name: "n\(number)", epoch: Epoch(UInt64(number))),
                    apps: [ClusterLink.App(id: "1001", AppRules())], heartbeatMilliseconds: 2_000, now: 0)
            }
            for index in links.indices { run(index) { $0.start(&$1) } }
            for index in links.indices { run(index) { $0.connected(at: 0, &$1) } }
        }

        mutating func run(_ index: Int, _ body: (inout ClusterLink, inout [ClusterLink.Output]) -> Void) {
            var outputs: [ClusterLink.Output] = []
            body(&links[index], &outputs)
            links[index].flush(&outputs)
            for output in outputs {
                switch output {
                case .subscribe(let subject, let token):
                    subjects[index][subject] = token
                    run(index) { $0.granted([token], at: 0, &$1) }
                case .publish(let subject, let payload):
                    let other = 1 - index
                    guard let token = subjects[other][subject] else { continue }
                    run(other) { $0.received(payload, token: token, at: 0, &$1) }
                case .hub(let input): hubInputs[index].append(input)
                default: break
                }
            }
        }
    }

    @Test("a watcher learns who is signed in on another node, then gets its list")
    func initialState() {
        var pair = Pair()
        #expect(pair.links[0].others.count == 1)
        pair.run(1) { $0.changed(.signedIn(userID: "ann"), app: 0, &$1) }
        pair.run(0) { $0.changed(.watches(SocketID(bits: 1 << 32), ["ann", "bob"]), app: 0, &$1) }
        let texts = pair.hubInputs[0].map { "\($0)" }
        #expect(texts.count == 2 && texts[0].contains("remoteUser") && texts[1].contains("showWatchlist"), "\(texts)")
    }

    @Test("and of every change")
    func changes() {
        var pair = Pair()
        pair.run(0) { $0.changed(.watches(SocketID(bits: 1 << 32), ["ann"]), app: 0, &$1) }
        pair.run(1) { $0.changed(.signedIn(userID: "ann"), app: 0, &$1) }
        pair.run(1) { $0.changed(.signedOut(userID: "ann"), app: 0, &$1) }
        let texts = pair.hubInputs[0].map { "\($0)" }
        #expect(texts.count == 3 && texts[1].contains("true") && texts[2].contains("false"), "\(texts)")
    }
}
