import JSON

/// What dispatchers, and the customers of a driver's bookings, are to know of a driver. Nil: not known.
package struct DriverCard: Equatable, Sendable {
    package let id: String
    package var name: String?
    package var phoneNumber: String?
    package var vehicleMake: String?
    package var vehicleModel: String?
    package var vehicleColor: String?
    package var licensePlate: String?
    /// 0 for a card that is not stored yet, 1 once it is stored; each later change adds 1. Clients send the version back
    /// in `If-Match`.
    package var version = 0

    package init(id: String) { self.id = id }

    /// The most characters of a text on a card.
    package static let textMax = 100

    /// A card whose texts take the most bytes in JSON. ``EventSize`` measures the events that contain them.
    static func largest(id: String) -> DriverCard {
        var card = DriverCard(id: id)
        // A control character takes six bytes, `\u0001`; a character outside the basic plane takes four.
        let text = String(repeating: "\u{1}", count: textMax)
        (card.name, card.phoneNumber, card.licensePlate) = (text, text, text)
        (card.vehicleMake, card.vehicleModel, card.vehicleColor) = (text, text, text)
        return card
    }

    /// How errors name the driver: `Driver 42`.
    package var label: String { "Driver \(id)" }

    /// The texts that identify the person wherever they are written. The vehicle's make, model and color do not.
    package var identifyingTexts: [String] { [name, phoneNumber, licensePlate].compactMap(\.self) }
}

extension DriverCard {
    /// Writes the card as a JSON object for responses.
    package func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("name", name)
            $0.member("phoneNumber", phoneNumber)
            $0.member("vehicleMake", vehicleMake)
            $0.member("vehicleModel", vehicleModel)
            $0.member("vehicleColor", vehicleColor)
            $0.member("licensePlate", licensePlate)
            $0.member("version", version)
        }
    }

    /// Whether any field differs in any byte. `==` considers canonically equivalent strings equal.
    func differs(from other: DriverCard) -> Bool { encoded != other.encoded }

    private var encoded: [UInt8] {
        var json = JSONWriter(capacity: 512)
        write(to: &json)
        return json.bytes
    }
}

/// A request's changes to a driver's card.
package struct DriverCardChanges: Equatable, Sendable {
    package var name = Change<String>.keep
    package var phoneNumber = Change<String>.keep
    package var vehicleMake = Change<String>.keep
    package var vehicleModel = Change<String>.keep
    package var vehicleColor = Change<String>.keep
    package var licensePlate = Change<String>.keep

    package init() {}

    /// Sets and clears the fields that the request contains.
    package func apply(to card: inout DriverCard) {
        name.apply(to: &card.name)
        phoneNumber.apply(to: &card.phoneNumber)
        vehicleMake.apply(to: &card.vehicleMake)
        vehicleModel.apply(to: &card.vehicleModel)
        vehicleColor.apply(to: &card.vehicleColor)
        licensePlate.apply(to: &card.licensePlate)
    }

    /// The names of the fields that the request sets or clears.
    var presentFields: [String] {
        [
            name.isPresent ? "name" : nil, phoneNumber.isPresent ? "phoneNumber" : nil,
            vehicleMake.isPresent ? "vehicleMake" : nil, vehicleModel.isPresent ? "vehicleModel" : nil,
            vehicleColor.isPresent ? "vehicleColor" : nil, licensePlate.isPresent ? "licensePlate" : nil,
        ].compactMap(\.self)
    }
}
