import FanOut
import JSON
import Primitives

/// The attributes of a channel that the parameter `info` requests (protocol points B12, G4, H2–H5).
package struct ChannelAttributes: OptionSet, Sendable {
    package let rawValue: Int

    package static let userCount = ChannelAttributes(rawValue: 1)
    package static let subscriptionCount = ChannelAttributes(rawValue: 2)
    package static let cache = ChannelAttributes(rawValue: 4)

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// Parses a list such as `user_count,subscription_count`.
    /// - Throws: ``APIError`` with 400 for an attribute that is unknown or not in `allowed`.
    init(_ text: String, allowed: ChannelAttributes) throws(APIError) {
        self = []
        for name in text.utf8.split(separator: UInt8(ascii: ",")) {
            let attribute = Self.named(name.filter { $0 != UInt8(ascii: " ") })
            guard let attribute, allowed.contains(attribute) else {
                throw APIError(400, "Unknown info attribute \(String(Substring(name)).clipped)")
            }
            insert(attribute)
        }
    }

    /// Parses the body's member `info`. If it is absent or null, no attributes are requested.
    init(_ slice: JSONSlice?, allowed: ChannelAttributes) throws(APIError) {
        guard let slice, slice.kind != .null else {
            self = []
            return
        }
        guard let text = slice.string else { throw APIError(400, "Expected info parameter to be a string") }
        try self.init(text, allowed: allowed)
    }

    private static let names: [(name: StaticString, attribute: ChannelAttributes)] = [
        ("user_count", .userCount), ("subscription_count", .subscriptionCount), ("cache", .cache),
    ]

    private static func named(_ name: [UInt8]) -> ChannelAttributes? {
        name.withUnsafeBytes { bytes in names.first { bytes.hasSameBytes(as: $0.name) }?.attribute }
    }
}

extension JSONWriter {
    /// Writes the requested attributes as members of a channel's object. Presence channels have a user count, and other
    /// channels a subscription count.
    /// - Parameter occupancy: nil if the channel has no subscribers.
    mutating func attributes(_ attributes: ChannelAttributes, isPresence: Bool, _ occupancy: Hub.Occupancy?) {
        if attributes.contains(.userCount), isPresence { member("user_count", occupancy?.users ?? 0) }
        if attributes.contains(.subscriptionCount), !isPresence { member("subscription_count", occupancy?.subscriptions ?? 0) }
    }
}
