import JSON
import Primitives

/// A notification that an admin sends. The admin chooses a type in the catalogue, the recipients and the data.
package struct Announcement: Equatable, Sendable {
    /// The recipients.
    package enum Audience: Equatable, Sendable {
        /// Drivers by their ids, each on the driver's own channel.
        case drivers([String])
        /// A customer by id, on the customer's own channel.
        case customer(String)
        /// All drivers, on `drivers-channel`.
        case everyDriver
    }

    /// The name of an entry of the catalogue: `NEW_BATCH_AVAILABLE`, `job-assigned`.
    package let type: String
    package var audience: Audience
    /// A JSON object.
    package let data: [UInt8]

    package init(type: String, audience: Audience, data: [UInt8]) {
        self.type = type
        self.audience = audience
        self.data = data
    }
}

extension Announcement {
    /// The channels to publish to. A driver who is listed twice is notified once.
    /// - Throws: `.invalid` (400) if the list of drivers is empty.
    func channels() throws(RuleError) -> [FleetChannel] {
        switch audience {
        case .customer(let id): return [.customer(id)]
        case .everyDriver: return [.drivers]
        case .drivers(let ids):
            guard !ids.isEmpty else { throw RuleError(.noRecipient) }
            var seen: Set<Identifier> = []
            return ids.filter { seen.insert(Identifier($0)).inserted }.map { .driver($0) }
        }
    }

    /// The members of `data` as sent, except `notificationId` and `correlationId`: the gateway sets these two. The
    /// arrival of a driver gets a `timestamp` if `data` has none, because apps require it.
    /// - Parameter milliseconds: the present time, in milliseconds since 1970.
    /// - Throws: `.invalid` (400) if `data` is not an object.
    func members(at milliseconds: Int64) throws(RuleError) -> [UInt8] {
        var json = JSONWriter(capacity: data.count)
        var needsTimestamp = EventNames.event(ofType: type) == "driver-arrival"
        do {
            try data.withUnsafeBytes { bytes in
                try JSONReader.object(bytes) { key, value in
                    guard !key.equals("notificationId"), !key.equals("correlationId") else { return }
                    if needsTimestamp, key.equals("timestamp") {
                        guard value.kind != .null else { return }
                        needsTimestamp = false
                    }
                    json.separate()
                    json.raw(key.raw)
                    json.raw(":")
                    json.raw(value.raw)
                }
            }
        } catch {
            throw RuleError(.dataNotObject)
        }
        if needsTimestamp { json.member("timestamp", Timestamp.wholeSeconds(milliseconds: milliseconds)) }
        return json.bytes
    }

    /// For the audit log: type and recipients. The data is left out, because the notification log contains it.
    var auditDetails: EventFields {
        let recipients: EventFields =
            switch audience {
            case .drivers(let ids): ["drivers": .texts(ids)]
            case .customer(let id): ["customer": .text(id)]
            case .everyDriver: ["channel": .text(FleetChannel.drivers.name)]
            }
        return ["type": .text(type)] + recipients
    }
}

extension RuleError.Code {
    package static let noRecipient = Self(
        "noRecipient", .invalid, "Expected \"to.drivers\" to contain at least one driver id")
    package static let dataNotObject = Self("dataNotObject", .invalid, "Expected \"data\" to be an object")
}
