import FanOut
import JSON

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
        for name in text.split(separator: ",") {
            let attribute = Self.named(String(name.filter { $0 != " " }))
            guard let attribute, allowed.contains(attribute) else {
                throw APIError(400, "Unknown info attribute \(String(name).clipped)")
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

    private static func named(_ name: String) -> ChannelAttributes? {
        switch name {
        case "user_count": .userCount
        case "subscription_count": .subscriptionCount
        case "cache": .cache
        default: nil
        }
    }
}

extension JSONWriter {
    /// Writes the requested attributes as members of a channel's object. Only presence channels have a user count.
    /// - Parameter occupancy: nil if the channel has no subscribers.
    mutating func attributes(_ attributes: ChannelAttributes, isPresence: Bool, _ occupancy: Hub.Occupancy?) {
        if attributes.contains(.userCount), isPresence { member("user_count", occupancy?.users ?? 0) }
        if attributes.contains(.subscriptionCount) { member("subscription_count", occupancy?.subscriptions ?? 0) }
    }
}
