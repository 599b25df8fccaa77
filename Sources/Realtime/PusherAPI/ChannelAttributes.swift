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
        let (attributes, unknown) = text.withBytes { Self.read($0, allowed) }
        if let unknown { throw APIError(400, "Unknown info attribute \(unknown.clipped)") }
        self = attributes
    }

    /// - Returns: the attributes before the first that is unknown or not allowed, and its name.
    private static func read(
        _ list: UnsafeRawBufferPointer, _ allowed: ChannelAttributes
    ) -> (attributes: ChannelAttributes, unknown: String?) {
        var attributes: ChannelAttributes = []
        var start = 0
        while start < list.count {
            let rest = UnsafeRawBufferPointer(rebasing: list[start...])
            let name = UnsafeRawBufferPointer(rebasing: rest[..<(rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.count)])
            start += name.count + 1
            guard !name.isEmpty else { continue }
            guard let attribute = named(name), allowed.contains(attribute) else {
                return (attributes, String(decoding: name, as: UTF8.self))
            }
            attributes.insert(attribute)
        }
        return (attributes, nil)
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

    private static func named(_ name: UnsafeRawBufferPointer) -> ChannelAttributes? {
        if let known = names.first(where: { name.hasSameBytes(as: $0.name) }) { return known.attribute }
        // Spaces do not count.
        guard name.contains(UInt8(ascii: " ")) else { return nil }
        let rest = name.filter { $0 != UInt8(ascii: " ") }
        return rest.withUnsafeBytes { bytes in names.first { bytes.hasSameBytes(as: $0.name) }?.attribute }
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
