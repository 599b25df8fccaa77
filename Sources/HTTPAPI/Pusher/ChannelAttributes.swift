import FanOut
import JSON

/// What may be asked of channels by `info` (PROTOCOL B12, G4, H2–H5).
package struct ChannelAttributes: OptionSet, Sendable {
    package let rawValue: Int

    package static let userCount = ChannelAttributes(rawValue: 1)
    package static let subscriptionCount = ChannelAttributes(rawValue: 2)
    package static let cache = ChannelAttributes(rawValue: 4)

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// Reads a list such as `user_count,subscription_count`.
    /// - Throws: ``APIError`` with 400 for an attribute that there is not, or not here.
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

    /// The same from a body's member; absent or null asks for nothing.
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
    /// The members asked for, with commas between them; users are counted on presence channels only.
    /// - Parameter needsComma: whether a member stands before.
    mutating func attributes(
        _ attributes: ChannelAttributes, isPresence: Bool, _ occupancy: Hub.Occupancy?, needsComma: Bool = false
    ) {
        var needsComma = needsComma
        if attributes.contains(.userCount), isPresence {
            raw(needsComma ? #","user_count":"# : #""user_count":"#)
            integer(occupancy?.users ?? 0)
            needsComma = true
        }
        if attributes.contains(.subscriptionCount) {
            raw(needsComma ? #","subscription_count":"# : #""subscription_count":"#)
            integer(occupancy?.subscriptions ?? 0)
        }
    }
}
