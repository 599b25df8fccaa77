import Primitives

/// A driver's account: one for each Firebase user, and one for each phone.
package struct Account: Equatable, Sendable {
    /// `_id` in answers. Made at the registration; stays when a rejected driver registers anew.
    package let id: ObjectID
    /// The Firebase user.
    package let uid: String
    /// The driver's id in channels, jobs, devices and events: the token's.
    package var personID: String
    /// See ``DriverPhone``.
    package var phone: String
    package var registration: Registration
    package var status = AccountStatus.pending
    /// Why the account is rejected or suspended.
    package var reason: String?
    /// 1 for a new account; each later change adds 1. Clients send the version back in `If-Match`.
    package var version = 1
    /// Milliseconds since 1970, as all times here.
    package let createdAt: Int64
    package var updatedAt: Int64
    package var lastLoginAt: Int64?

    package init(id: ObjectID, uid: String, personID: String, phone: String, _ registration: Registration, createdAt: Int64) {
        self.id = id
        self.uid = uid
        self.personID = personID
        self.phone = phone
        self.registration = registration
        self.createdAt = createdAt
        updatedAt = createdAt
    }

    package var entry: AccountEntry { AccountEntry(id: id, personID: personID, status: status, reason: reason) }
}

/// What the gateway needs to know of an account at each request.
package struct AccountEntry: Equatable, Sendable {
    package let id: ObjectID
    package let personID: String
    package let status: AccountStatus
    /// Why the account is rejected or suspended.
    package let reason: String?

    package init(id: ObjectID, personID: String, status: AccountStatus, reason: String?) {
        self.id = id
        self.personID = personID
        self.status = status
        self.reason = reason
    }
}

/// What a driver has told about the driver and the vehicle. Dates are as the driver's app sent them.
package struct Registration: Equatable, Sendable {
    package var name: String
    package var email: String?
    package var profileImage: String?
    package var licenseNumber: String
    package var licenseImageURL: String
    package var licenseExpiryDate: String?
    package var vehicleName: String
    package var vehicleNumber: String
    package var vehicleType: VehicleType
    package var vehicleDocuments: [VehicleDocument]

    package init(
        name: String, email: String?, profileImage: String?, licenseNumber: String, licenseImageURL: String,
        licenseExpiryDate: String?, vehicleName: String, vehicleNumber: String, vehicleType: VehicleType,
        vehicleDocuments: [VehicleDocument]
    ) {
        self.name = name
        self.email = email
        self.profileImage = profileImage
        self.licenseNumber = licenseNumber
        self.licenseImageURL = licenseImageURL
        self.licenseExpiryDate = licenseExpiryDate
        self.vehicleName = vehicleName
        self.vehicleNumber = vehicleNumber
        self.vehicleType = vehicleType
        self.vehicleDocuments = vehicleDocuments
    }
}

package enum VehicleType: String, CaseIterable, Sendable {
    case bike = "BIKE"
    case scooter = "SCOOTER"
    case bicycle = "BICYCLE"
    case other = "OTHER"
}

/// A picture of one of a vehicle's papers.
package struct VehicleDocument: Equatable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// The certificate of registration.
        case registration = "RC"
        case insurance = "INSURANCE"
        /// The certificate "pollution under control".
        case emissions = "PUC"
        case other = "OTHER"
    }

    package let kind: Kind
    package let imageURL: String
    package let expiryDate: String?

    package init(kind: Kind, imageURL: String, expiryDate: String?) {
        self.kind = kind
        self.imageURL = imageURL
        self.expiryDate = expiryDate
    }
}

/// A phone number as accounts have it.
package enum DriverPhone {
    /// The number without the fleet's country code in front. A number of another country stays whole.
    /// - Parameters:
    ///   - number: the token's `phone_number`, such as `+919179621765` (E.164).
    ///   - countryCode: such as `+91`.
    package static func local(_ number: String, countryCode: String) -> String {
        guard !countryCode.isEmpty, number.utf8.starts(with: countryCode.utf8), number.utf8.count > countryCode.utf8.count
        else { return number }
        return String(Substring(number.utf8.dropFirst(countryCode.utf8.count)))
    }
}
