import Primitives

/// The body of a registration, before it is checked.
package struct RegistrationForm: Equatable, Sendable {
    package var name = SentField<String>.absent
    package var email = SentField<String>.absent
    package var profileImage = SentField<String>.absent
    package var licenseNumber = SentField<String>.absent
    package var licenseImageURL = SentField<String>.absent
    package var licenseExpiryDate = SentField<String>.absent
    package var vehicleName = SentField<String>.absent
    package var vehicleNumber = SentField<String>.absent
    package var vehicleType = SentField<String>.absent
    package var vehicleDocuments = SentField<[Document]>.absent

    /// One of `vehicleDocuments`. An element that is no object has unreadable fields.
    package struct Document: Equatable, Sendable {
        package var kind = SentField<String>.absent
        package var imageURL = SentField<String>.absent
        package var expiryDate = SentField<String>.absent

        package init() {}
    }

    /// Most documents of a vehicle.
    package static let documentsMax = 10

    package init() {}

    /// The registration, if all fields are right.
    /// - Parameters:
    ///   - hasPhone: whether the token has a phone number, which is one of the fields.
    ///   - now: milliseconds since 1970.
    ///   - isVehicleNumber: whether the operator's pattern accepts a number without spaces and hyphens, in upper case.
    /// - Throws: `.invalid` (400) with all fields that are wrong.
    package func registration(
        hasPhone: Bool, now: Int64, isVehicleNumber: (String) -> Bool
    ) throws(RuleError) -> Registration {
        var check = FieldCheck()
        if !hasPhone { check.refuse("phone", "Phone number is required") }
        let name = check.name(name)
        let email = check.email(email)
        let image = check.url("profileImage", profileImage)
        let license = check.text("licenseNumber", licenseNumber, "License number", most: 50)
        let licenseImage = check.requiredURL("licenseImageUrl", licenseImageURL, "License image is required")
        let expiry = check.date("licenseExpiryDate", licenseExpiryDate, after: now)
        let vehicle = check.text("vehicleName", vehicleName, "Vehicle name", most: 100)
        let number = check.vehicleNumber(vehicleNumber, isVehicleNumber)
        let type: VehicleType? = check.choice("vehicleType", vehicleType, "Vehicle type")
        let documents = check.documents(vehicleDocuments)
        guard check.wrong.isEmpty, let name, let license, let licenseImage, let vehicle, let number, let type else {
            throw RuleError(fields: check.wrong)
        }
        return Registration(
            name: name, email: email, profileImage: image, licenseNumber: license, licenseImageURL: licenseImage,
            licenseExpiryDate: expiry, vehicleName: vehicle, vehicleNumber: number, vehicleType: type,
            vehicleDocuments: documents)
    }
}

/// The body of a change of a profile, before it is checked.
package struct ProfileForm: Equatable, Sendable {
    package var name = SentField<String>.absent
    package var email = SentField<String>.absent
    package var profileImage = SentField<String>.absent
    /// The names of the fields in the body that only a registration may set.
    package var fixedFields: [String] = []

    package init() {}

    /// The fields that only a registration may set.
    package static let fixedNames = [
        "licenseNumber", "licenseImageUrl", "licenseExpiryDate", "vehicleName", "vehicleNumber", "vehicleType",
        "vehicleDocuments",
    ]

    /// Changes what the driver has told.
    /// - Throws: `.invalid` (400) with all fields that are wrong.
    package func apply(to registration: inout Registration) throws(RuleError) {
        var check = FieldCheck()
        let newName = name == .absent ? registration.name : check.name(name)
        let newEmail = email == .absent ? registration.email : check.email(email)
        let newImage = profileImage == .absent ? registration.profileImage : check.url("profileImage", profileImage)
        for field in fixedFields { check.refuse(field, "This field cannot be changed here") }
        guard check.wrong.isEmpty, let newName else { throw RuleError(fields: check.wrong) }
        registration.name = newName
        registration.email = newEmail
        registration.profileImage = newImage
    }
}
