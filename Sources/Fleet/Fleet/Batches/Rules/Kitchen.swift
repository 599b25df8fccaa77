import JSON
import Primitives

/// The meal for which a batch is cooked.
package enum MealWindow: String, CaseIterable, Sendable {
    case lunch = "LUNCH"
    case dinner = "DINNER"
}

/// Where the driver picks a batch up.
package struct Kitchen: Equatable, Sendable {
    package let id: ObjectID
    package var name: String?
    package var phone: String?
    package var address = KitchenAddress()

    package init(id: ObjectID) { self.id = id }
}

/// A kitchen's address. Nil: not given.
package struct KitchenAddress: Equatable, Sendable {
    package var street: String?
    package var area: String?
    package var city: String?
    package var state: String?
    package var pincode: String?
    /// Degrees, -90 to 90, as sent.
    package var latitude: JSONNumber?
    /// Degrees, -180 to 180, as sent.
    package var longitude: JSONNumber?

    package init() {}
}

/// The part of a city to which a batch goes.
package struct Zone: Equatable, Sendable {
    package let id: ObjectID
    package var name: String?
    package var city: String?

    package init(id: ObjectID) { self.id = id }
}
