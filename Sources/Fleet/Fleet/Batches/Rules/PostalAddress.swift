import JSON

/// An address: its texts, and where it is. Requests, responses and the store have the same members, in this order. Nil: not
/// given.
package protocol PostalAddress {
    init()

    /// The names of the texts in JSON, and the properties that hold them.
    static var texts: [(name: StaticString, path: WritableKeyPath<Self, String?> & Sendable)] { get }
    /// Degrees, -90 to 90, as sent.
    var latitude: JSONNumber? { get set }
    /// Degrees, -180 to 180, as sent.
    var longitude: JSONNumber? { get set }
}

extension PostalAddress {
    /// Writes the members of a JSON object.
    package func writeMembers(to json: inout JSONWriter) {
        for (name, path) in Self.texts { json.member(name, self[keyPath: path]) }
        json.member("latitude", latitude)
        json.member("longitude", longitude)
    }
}

extension DeliveryAddress: PostalAddress {
    package static let texts: [(name: StaticString, path: WritableKeyPath<DeliveryAddress, String?> & Sendable)] = [
        ("name", \.name), ("phone", \.phone), ("flatNumber", \.flatNumber), ("street", \.street), ("landmark", \.landmark),
        ("area", \.area), ("city", \.city), ("state", \.state), ("pincode", \.pincode),
    ]
}

extension KitchenAddress: PostalAddress {
    package static let texts: [(name: StaticString, path: WritableKeyPath<KitchenAddress, String?> & Sendable)] = [
        ("street", \.street), ("area", \.area), ("city", \.city), ("state", \.state), ("pincode", \.pincode),
    ]
}
