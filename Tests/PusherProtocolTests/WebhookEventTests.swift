import PusherProtocol
import Testing

/// The JSON of webhook events (protocol points V1–V9), and the kinds that an endpoint may list.
@Suite struct WebhookEventTests {
    @Test(arguments: table) func encodesEachEvent(_ row: Row) {
        #expect(String(decoding: row.event.json, as: UTF8.self) == row.json)
    }

    @Test func kindNamesAreUnique() {
        #expect(WebhookKinds.names.count == 7)
        #expect(Set(WebhookKinds.names.map(\.kind.rawValue)).count == 7)
        let kinds = WebhookKinds.names.reduce(into: WebhookKinds()) { $0.formUnion($1.kind) }
        for index in 0...8 { #expect(kinds.isDisjoint(with: .other(index)) && WebhookKinds.all.contains(.other(index))) }
        // The configuration uses the same names as the webhooks.
        for (name, kind) in WebhookKinds.names {
            let named = Self.table.filter { $0.event.kind == kind }
            #expect(!named.isEmpty && named.allSatisfy { $0.json.hasPrefix(#"{"name":"\#(name)","#) }, "\(name)")
        }
    }

    @Test func emptyListMeansAllKinds() {
        #expect(WebhookKinds(named: []) == .all)
        #expect(WebhookKinds(named: ["channel_vacated", "cache_miss"]) == [.channelVacated, .cacheMiss])
        #expect(WebhookKinds(named: ["channel_emptied"]) == [], "unknown names select nothing")
        #expect(WebhookKinds.occupancy == WebhookKinds(named: ["channel_occupied", "channel_vacated"]))
        #expect(WebhookKinds.membership == WebhookKinds(named: ["member_added", "member_removed"]))
    }

    @Test func counterpartsAreIncluded() {
        let rows: [(WebhookKinds, WebhookKinds)] = [
            ([], []), (.channelOccupied, .occupancy), (.channelVacated, .occupancy), (.memberRemoved, .membership),
            ([.cacheMiss, .clientEvent], [.cacheMiss, .clientEvent]), ([.memberAdded, .cacheMiss], [.membership, .cacheMiss]),
            (.all, .all),
        ]
        for (kinds, expected) in rows { #expect(kinds.withCounterparts == expected) }
    }

    struct Row: Sendable {
        let event: WebhookEvent
        let json: String

        init(_ event: WebhookEvent, _ json: String) {
            self.event = event
            self.json = json
        }
    }

    private static func name(_ text: String) -> ChannelName {
        guard let name = ChannelName(text, lengthMax: 200) else { preconditionFailure("invalid channel name") }
        return name
    }

    private static func clientEvent(_ data: String, by userID: String? = nil, on channel: String) -> WebhookEvent {
        let event = ClientEvent(name: #"client-"typing""#, channel: channel, data: Array(data.utf8))
        guard let socket = SocketID("12.34") else { preconditionFailure("invalid socket_id") }
        return .clientEvent(event, on: name(channel), from: socket, userID: userID)
    }

    static let table: [Row] = [
        Row(.channelOccupied(name("news")), #"{"name":"channel_occupied","channel":"news"}"#),
        Row(.channelVacated(name("news")), #"{"name":"channel_vacated","channel":"news"}"#),
        Row(
            .memberAdded(name("presence-a"), userID: #"a"\"#),
            #"{"name":"member_added","channel":"presence-a","user_id":"a\"\\"}"#),
        Row(
            .memberRemoved(name("presence-a"), userID: "ünï"),
            #"{"name":"member_removed","channel":"presence-a","user_id":"ünï"}"#),
        Row(
            clientEvent(#""{\"x\":1}""#, by: "7", on: "presence-a"),
            #"{"name":"client_event","channel":"presence-a","event":"client-\"typing\"","data":"{\"x\":1}","#
                + #""socket_id":"12.34","user_id":"7"}"#),
        Row(
            clientEvent("null", on: "private-a"),
            #"{"name":"client_event","channel":"private-a","event":"client-\"typing\"","data":null,"socket_id":"12.34"}"#),
        Row(.cacheMiss(name("cache-a")), #"{"name":"cache_miss","channel":"cache-a"}"#),
        Row(
            .subscriptionCount(name("news"), 17),
            #"{"name":"subscription_count","channel":"news","subscription_count":17}"#),
        Row(.other(.other(3), json: Array(#"{"name":"more"}"#.utf8)), #"{"name":"more"}"#),
    ]
}
