/// The names of a push's data fields that have a fixed meaning.
package enum PushFieldNames {
    /// The fields that the gateway itself writes into a push or an event.
    private static let ofTheGateway: Set = [
        "type", "event", "notificationId", "correlationId", "entityId", "jobId", "routeId", "title", "message",
    ]

    /// Whether the catalogue may give a field this name (``NotificationCatalogue/Entry/data``): a letter, then letters,
    /// digits or `_`, at most 64 in all; not a name of the gateway or of a provider.
    package static func isFree(_ name: String) -> Bool {
        let isForm = name.utf8.count <= 64 && name.wholeMatch(of: /[A-Za-z][A-Za-z0-9_]*/) != nil
        return isForm && !ofTheGateway.contains(name) && !isReserved(name)
    }

    /// Whether a provider reserves the name. APNs reserves `aps`; FCM reserves the other names, and rejects a message
    /// that has one of them or an empty name.
    package static func isReserved(_ name: String) -> Bool {
        switch name.utf8.first.map({ $0 | 0x20 }) {
        case UInt8(ascii: "a"): name.begins(with: "aps") && name.utf8.count == 3
        case UInt8(ascii: "f"): name.begins(with: "from") && name.utf8.count == 4
        case UInt8(ascii: "m"): name.begins(with: "message_type") && name.utf8.count == 12
        case UInt8(ascii: "g"): name.begins(with: "google") || name.begins(with: "gcm")
        case nil: true
        default: false
        }
    }
}

extension String {
    /// Whether the string begins with `start`, which must be lower-case. Ignores the case of ASCII letters.
    fileprivate func begins(with start: StaticString) -> Bool {
        utf8.count >= start.utf8CodeUnitCount
            && start.withUTF8Buffer { zip(utf8, $0).allSatisfy { $0 == $1 || $0 | 0x20 == $1 } }
    }
}
