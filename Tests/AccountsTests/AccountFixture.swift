import Fleet
import Primitives

/// An account and a registration form that is right in every field.
enum AccountFixture {
    /// 2026-11-21T09:30:00Z in milliseconds.
    static let now: Int64 = 1_795_253_400_000
    static let caller = AccountCaller(uid: "uid-1", personID: "42", phone: "9179621765")

    static var form: RegistrationForm {
        var form = RegistrationForm()
        form.name = .value("Dana Driver")
        form.email = .value("dana@example.com")
        form.profileImage = .value("https://img.example/dana.jpg")
        form.licenseNumber = .value("DL-1")
        form.licenseImageURL = .value("https://img.example/dl.jpg")
        form.licenseExpiryDate = .value("2027-12-31")
        form.vehicleName = .value("Activa")
        form.vehicleNumber = .value("mh 12-ab 1234")
        form.vehicleType = .value("SCOOTER")
        var document = RegistrationForm.Document()
        document.kind = .value("RC")
        document.imageURL = .value("http://img.example/rc.jpg")
        document.expiryDate = .value("2020-01-01")
        form.vehicleDocuments = .value([document])
        return form
    }

    static func read(_ form: RegistrationForm, hasPhone: Bool = true) throws(RuleError) -> Registration {
        try form.registration(hasPhone: hasPhone, now: now) { $0.utf8.count == 10 && $0.utf8.first == UInt8(ascii: "M") }
    }

    static func account(_ status: AccountStatus, reason: String? = nil) throws -> Account {
        var random: any RandomNumberGenerator = SystemRandomNumberGenerator()
        var account = Account(
            id: .random(using: &random), uid: "uid-1", personID: "42", phone: "9179621765", try read(form), createdAt: now)
        account.status = status
        account.reason = reason
        return account
    }
}

extension RuleError {
    /// The paths and texts of the wrong fields.
    var texts: [String: String] { Dictionary(uniqueKeysWithValues: fields.map { ($0.path, $0.text) }) }
}
