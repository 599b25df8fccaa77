import Crypto
import JSON
import PusherProtocol

/// What the subscribers subscribe to, and what is published. Two kinds: ``FanoutScenario`` and ``FleetScenario``.
protocol Scenario {
    func channelName(_ channel: Int) -> String
    func authorization(ofSubscriber channel: Int, socketID: String) -> Authorization
    /// The request that publishes an event.
    func publish(_ event: Int) -> [UInt8]
    /// The number of the event that a subscriber received; nil if it is none of this run.
    func number(ofEvent name: JSONSlice, data: JSONSlice) -> Int?
    /// The request with which a subscriber responds to an event; nil if it does not.
    func accept(_ event: Int) -> [UInt8]?
    /// The request that removes what an event has left in the gateway; nil if it leaves nothing.
    func end(_ event: Int) -> [UInt8]?
    /// The request for the metrics that count confirmations; nil if nothing is confirmed.
    var figures: [UInt8]? { get }
}

/// How a subscriber gets the signature of its subscription.
enum Authorization {
    case signature(String)
    /// The response to this request has it.
    case request([UInt8])
}

/// Who the load tester is to the gateway.
package struct BenchCredentials {
    package let appID: String
    package let appKey: String
    package let appSecret: String
    /// A token of an admin; empty: none.
    package let adminToken: String
    /// Creates a driver's token.
    package let driverToken: (_ driver: String) -> String

    package init(
        appID: String, appKey: String, appSecret: String, adminToken: String, driverToken: @escaping (String) -> String
    ) {
        (self.appID, self.appKey, self.appSecret) = (appID, appKey, appSecret)
        (self.adminToken, self.driverToken) = (adminToken, driverToken)
    }
}

/// Writes requests of HTTP/1.1.
enum RequestText {
    /// - Parameters:
    ///   - token: for the field `Authorization`; empty: none.
    ///   - type: the body's content type.
    static func bytes(
        _ method: String, _ path: String, host: String, token: String = "", type: String = "application/json",
        body: [UInt8] = []
    ) -> [UInt8] {
        var text = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n"
        if !token.isEmpty { text += "Authorization: Bearer \(token)\r\n" }
        if method != "GET" { text += "Content-Type: \(type)\r\nContent-Length: \(body.count)\r\n" }
        return Array(text.utf8) + [13, 10] + body
    }
}
