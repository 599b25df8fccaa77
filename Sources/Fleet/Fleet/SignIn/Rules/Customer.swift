/// The account of a customer who has signed in by a code.
package struct Customer: Equatable, Sendable {
    /// 10,000 or more. Never given to another person.
    package let id: Int64
    /// In E.164: see ``PhoneNumber/text``.
    package let phone: String
    package var name: String?
    package var email: String?
    package var payment: PaymentMethod?
    /// Milliseconds since 1970.
    package let createdAt: Int64
    package var updatedAt: Int64
    /// When the customer has signed in last, in milliseconds since 1970.
    package var lastLoginAt: Int64

    /// The id of the first account.
    package static let firstID: Int64 = 10_000

    /// A new account.
    package init(id: Int64, phone: String, now: Int64) {
        self.id = id
        self.phone = phone
        createdAt = now
        updatedAt = now
        lastLoginAt = now
    }

    /// A stored account.
    package init(
        id: Int64, phone: String, name: String?, email: String?, payment: PaymentMethod?, createdAt: Int64,
        updatedAt: Int64, lastLoginAt: Int64
    ) {
        self.id = id
        self.phone = phone
        self.name = name
        self.email = email
        self.payment = payment
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.lastLoginAt = lastLoginAt
    }

    /// How far the registration is.
    package var registration: CustomerRegistration {
        CustomerRegistration(hasBasicDetails: email != nil, hasPayment: payment != nil)
    }

    /// The account with a name and an e-mail address.
    package func with(_ details: BasicDetails, now: Int64) -> Customer {
        var customer = self
        (customer.name, customer.email, customer.updatedAt) = (details.name, details.email, now)
        return customer
    }
}
