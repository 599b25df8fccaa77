import FanOut
import HubFixture
import PusherProtocol
import Testing

/// The lists of connections and channels for operators.
@Suite struct HubConnectionsTests {
    private static let loopCount = 2
    private var hub = Hub(loopCount: loopCount, apps: [AppRules(), AppRules()])

    private mutating func open(_ id: String, app: AppIndex = 0, at second: Int64) -> SocketID {
        let socket = socket(id)
        _ = hub.apply(.tick(second * 1_000))
        _ = hub.apply(.opened(socket, app: app))
        return socket
    }

    private func list(
        _ filter: Hub.ConnectionFilter = Hub.ConnectionFilter(), after socket: SocketID? = nil, limit: Int = 10
    ) -> [String] {
        Hub.newestConnections(filter, after: socket.flatMap(hub.position), limit: limit) { $0(hub) }
            .entries.map { "\($0.socket)" }
    }

    @Test mutating func connectionsAreListedNewestFirst() {
        // The second number of an id is its place: loop 1 begins at 2^24.
        let old = open("1.0", at: 1)
        _ = open("2.16777216", at: 3)
        _ = open("3.1", at: 2)
        #expect(list() == ["2.16777216", "3.1", "1.0"])
        #expect(list(limit: 2) == ["2.16777216", "3.1"])
        #expect(list(after: socket("3.1")) == ["1.0"])
        _ = hub.apply(.closed(old))
        #expect(list() == ["2.16777216", "3.1"] && hub.position(of: old) == nil)
    }

    @Test mutating func pagesOfOneSecondAreComplete() {
        for number in 0..<10 { _ = open("\(number + 1).\(number)", at: 5) }
        var found: [String] = []
        var last: SocketID?
        while true {
            let page = list(after: last, limit: 3)
            found += page
            guard let end = page.last else { break }
            last = socket(end)
        }
        #expect(found.count == 10 && Set(found).count == 10)
    }

    /// Those that close while the list is made are left out, and the next page begins where they were.
    @Test mutating func connectionsThatCloseMeanwhileDoNotEndTheList() {
        let sockets = (0..<4).map { open("\($0 + 1).\($0)", at: Int64($0)) }
        var (hub, reads) = (self.hub, 0)
        let (entries, end) = Hub.newestConnections(Hub.ConnectionFilter(), after: nil, limit: 2) { read in
            read(hub)
            // The first reading is of the number of loops, the next ones of their connections.
            if hub.position(of: sockets[3]) != nil, reads == Self.loopCount { _ = hub.apply(.closed(sockets[3])) }
            reads += 1
        }
        #expect(entries.map { $0.socket } == [sockets[2]])
        let rest = Hub.newestConnections(Hub.ConnectionFilter(), after: end, limit: 2) { $0(hub) }
        #expect(rest.entries.map { $0.socket } == [sockets[1], sockets[0]])
    }

    @Test func textOfAPositionIsParsed() {
        for text in ["5000-1.0", "0-2.16777216"] {
            #expect(Hub.ConnectionPosition(text).map { "\($0)" } == text)
        }
        for text in ["", "-", "5000", "5000-", "-1-1.1", "--1-1.1", "5000-1", "x-1.1"] {
            #expect(Hub.ConnectionPosition(text) == nil, "\(text)")
        }
    }

    @Test mutating func filtersSelectByChannelAndUser() {
        let one = open("1.0", at: 1)
        let other = open("2.1", app: 1, at: 2)
        _ = hub.apply(.subscribe(one, grant("news")))
        _ = hub.apply(.subscribe(other, grant("news")))
        _ = hub.apply(.subscribe(other, grant("sport")))
        hub.setIdentifiers(["driver:42"], of: one)
        #expect(list(Hub.ConnectionFilter(channel: name("news"))) == ["2.1", "1.0"])
        #expect(list(Hub.ConnectionFilter(channel: name("sport"))) == ["2.1"])
        #expect(list(Hub.ConnectionFilter(channel: name("weather"))) == [])
        for user in ["42", "driver:42"] { #expect(list(Hub.ConnectionFilter(user: user)) == ["1.0"]) }
        #expect(list(Hub.ConnectionFilter(user: "4")) == [])
        let entry = Hub.newestConnections(Hub.ConnectionFilter(user: "42"), after: nil, limit: 1) { $0(hub) }.entries[0]
        #expect(entry.user == "driver:42" && entry.channels == ["news"] && entry.app == 0 && entry.openedAt == 1_000)
    }

    @Test mutating func manyChannelsAreCountedAndNotAllNamed() {
        let one = open("1.0", at: 1)
        for number in 0..<150 { _ = hub.apply(.subscribe(one, grant("c\(number)"))) }
        let entry = Hub.newestConnections(Hub.ConnectionFilter(), after: nil, limit: 1) { $0(hub) }.entries[0]
        #expect(entry.channels.count == 100 && entry.channelCount == 150)
    }

    @Test mutating func channelsAreListedByTheirRecentEvents() {
        let one = open("1.0", at: 60)
        for channel in ["a", "b", "c"] { _ = hub.apply(.subscribe(one, grant(channel))) }
        func publish(_ channel: String, times: Int) {
            for _ in 0..<times {
                let publication = Hub.Publication(channel: name(channel), frame: ServerMessage.ping)
                _ = hub.apply(.publish([publication], app: 0, except: nil))
            }
        }
        func channels(_ prefix: String = "", limit: Int = 10) -> [String] {
            Hub.busiestChannels(prefix: prefix, limit: limit) { $0(hub) }.map {
                "\($0.name) \($0.occupancy.subscriptions) \($0.recentEvents)"
            }
        }
        publish("b", times: 3)
        publish("nobody", times: 3)
        #expect(channels() == ["b 1 3", "a 1 0", "c 1 0"])
        #expect(channels("a") == ["a 1 0"] && channels(limit: 1) == ["b 1 3"])
        _ = hub.apply(.tick(200_000))
        publish("c", times: 4)
        #expect(channels() == ["c 1 4", "b 1 3", "a 1 0"])
        _ = hub.apply(.tick(360_000))  // the first events were six minutes ago
        #expect(channels() == ["c 1 4", "a 1 0", "b 1 0"])
        _ = hub.apply(.tick(10_000_000))
        #expect(channels() == ["a 1 0", "b 1 0", "c 1 0"])
    }
}
