import PusherProtocol

/// The subjects of a cluster on the bus. Clusters with different names share none.
package struct Subjects: Sendable {
    /// The cluster's name.
    private let name: String

    /// - Parameter name: 1 to 64 of `A-Z a-z 0-9 _ -`.
    package init(name: String) { self.name = name }

    /// Of a channel. In base64url (RFC 4648 section 5), because channel names contain dots, which divide subjects.
    package func channel(_ channel: ChannelName, app: String) -> String {
        "\(name).\(Self.token(app)).c.\(Self.base64URL(channel.text))"
    }

    /// Of all nodes.
    package var nodes: String { "\(name).nodes" }

    /// Of one node.
    package func node(_ epoch: Epoch) -> String { "\(name).nodes.\(epoch)" }

    /// An application's id, which is in base64url itself if it contains more than a subject's part may.
    private static func token(_ app: String) -> String {
        let isPlain = app.utf8.allSatisfy { (0x21...0x7E).contains($0) && !".*>".utf8.contains($0) }
        return isPlain ? app : "=" + base64URL(app)
    }

    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Without padding.
    static func base64URL(_ text: String) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.utf8.count * 4 / 3 + 3)
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for byte in text.utf8 {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                encoded.append(digits[Int(bits >> count & 63)])
            }
        }
        if count > 0 { encoded.append(digits[Int(bits << (6 - count) & 63)]) }
        return String(decoding: encoded, as: UTF8.self)
    }
}
