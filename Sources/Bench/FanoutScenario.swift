import Crypto
import Glibc
import JSON
import PusherProtocol

/// A backend publishes to private channels, each with many subscribers. The channels' names are new in each run, so that
/// neither real subscribers nor another run receive its events.
final class FanoutScenario: Scenario {
    private static let eventName = "bench"

    private let plan: BenchPlan
    private let credentials: BenchCredentials
    private let host: String
    private let run: String
    private let key: HMACKey
    private let md5 = MD5()

    /// - Parameter run: a text that no other run has.
    init(_ plan: BenchPlan, _ credentials: BenchCredentials, host: String, run: String) {
        (self.plan, self.credentials, self.host, self.run) = (plan, credentials, host, run)
        key = HMACKey(secret: credentials.appSecret)
    }

    func channelName(_ channel: Int) -> String { "private-bench-\(run)-\(channel)" }

    func authorization(ofSubscriber channel: Int, socketID: String) -> Authorization {
        .signature("\(credentials.appKey):\(key.signature(of: "\(socketID):\(channelName(channel))"))")
    }

    /// The event's data is its number, a space, and as many letters as its size needs.
    func publish(_ event: Int) -> [UInt8] {
        let number = "\(event) "
        var json = JSONWriter(capacity: plan.eventBytes + 200)
        json.object {
            $0.member("name", Self.eventName)
            $0.member("channel", channelName(event % plan.channelCount))
            $0.member("data", number + String(repeating: "x", count: max(0, plan.eventBytes - number.utf8.count)))
        }
        let path = "/apps/\(credentials.appID)/events"
        let query = [
            (name: "auth_key", value: credentials.appKey), (name: "auth_timestamp", value: String(time(nil))),
            (name: "auth_version", value: "1.0"),
            (name: "body_md5", value: json.bytes.withUnsafeBytes { md5.hexadecimalDigest(of: $0) }),
        ]
        let signature = key.signature(of: SigningText.request(method: "POST", path: path, query: query))
        let parameters = query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        return RequestText.bytes("POST", "\(path)?\(parameters)&auth_signature=\(signature)", host: host, body: json.bytes)
    }

    func number(ofEvent name: JSONSlice, data: JSONSlice) -> Int? {
        guard name.equals("bench"), let content = data.stringContent else { return nil }
        return content.leadingNumber
    }

    func accept(_ event: Int) -> [UInt8]? { nil }
    func end(_ event: Int) -> [UInt8]? { nil }
    var figures: [UInt8]? { nil }
}

extension Sequence<UInt8> {
    /// The decimal number at the start; nil without a digit, or above 15 digits.
    var leadingNumber: Int? {
        var (number, digits) = (0, 0)
        for byte in self {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"), digits < 15 else { break }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
            digits += 1
        }
        return digits > 0 ? number : nil
    }
}
