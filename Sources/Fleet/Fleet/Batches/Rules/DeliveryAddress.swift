import JSON

/// The recipient and the address of an order. Nil: not given.
package struct DeliveryAddress: Equatable, Sendable {
    /// The customer's name.
    package var name: String?
    /// The customer's phone number.
    package var phone: String?
    package var flatNumber: String?
    package var street: String?
    package var landmark: String?
    package var area: String?
    package var city: String?
    package var state: String?
    package var pincode: String?
    /// How the driver finds the door: what the customer has written, such as the code of a gate.
    package var instructions: String?
    /// Degrees, -90 to 90, as sent.
    package var latitude: JSONNumber?
    /// Degrees, -180 to 180, as sent.
    package var longitude: JSONNumber?

    package init() {}

    /// The address without the customer's name, phone number, flat number and instructions: for drivers that have not accepted the batch.
    package var withoutCustomer: DeliveryAddress {
        var address = self
        (address.name, address.phone, address.flatNumber, address.instructions) = (nil, nil, nil, nil)
        return address
    }

    /// The address without the phone number, and without the instructions: for drivers who have been there.
    package var withoutPhone: DeliveryAddress {
        var address = self
        (address.phone, address.instructions) = (nil, nil)
        return address
    }
}

/// A dish of an order.
package struct OrderItem: Equatable, Sendable {
    package let menuItemID: String
    package var name: String?
    /// As sent. Nil: not given.
    package var quantity: JSONNumber?
    /// In the fleet's currency, as sent. Nil: not given.
    package var price: JSONNumber?

    package init(menuItemID: String) { self.menuItemID = menuItemID }
}
