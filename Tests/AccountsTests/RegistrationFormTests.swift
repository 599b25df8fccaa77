import Fleet
import Primitives
import Testing

@Suite struct RegistrationFormTests {
    private typealias Path = WritableKeyPath<RegistrationForm, SentField<String>> & Sendable

    @Test func readsAllFields() throws {
        let registration = try AccountFixture.read(AccountFixture.form)
        #expect(registration.vehicleNumber == "MH12AB1234" && registration.vehicleType == .scooter)
        #expect(registration.name == "Dana Driver" && registration.email == "dana@example.com")
        #expect(
            registration.vehicleDocuments == [
                VehicleDocument(kind: .registration, imageURL: "http://img.example/rc.jpg", expiryDate: "2020-01-01")
            ])
    }

    @Test func whiteSpaceAroundTextsGoes() throws {
        var form = AccountFixture.form
        form.name = .value(" \u{A0}Dana\u{2003}Driver\n")
        form.email = .value("\u{A0}dana@example.com ")
        form.profileImage = .value("\t https://img.example/a.jpg\u{3000}")
        let registration = try AccountFixture.read(form)
        #expect(registration.name == "Dana\u{2003}Driver" && registration.email == "dana@example.com")
        #expect(registration.profileImage == "https://img.example/a.jpg")
    }

    /// The field, what is sent, and the error's text. Nil: it is right.
    private static let faults: [(String, Path, [SentField<String>], String?)] = [
        ("name", \.name, [.absent, .null, .value(""), .value(" \u{A0}\n")], "Name is required"),
        ("name", \.name, [.value("D"), .value(" D "), .value("é")], "Name must be at least 2 characters"),
        ("name", \.name, [.unreadable], "Name must be a text"),
        ("name", \.name, [.value(String(repeating: "é", count: 101))], "Name must have at most 100 characters"),
        ("name", \.name, [.value("Dé"), .value(String(repeating: "é", count: 100)), .value("മാർ\u{200D}ട്ടിൻ")], nil),
        (
            "name", \.name,
            ["\n", "\u{7}", "\u{202E}", "\u{2066}", "\u{200B}", "\u{2028}", "\u{FEFF}", "\u{85}"].map { .value("An\($0)na") },
            "Name must not contain control or format characters"
        ),
        (
            "vehicleName", \.vehicleName, [.value("My\tcar"), .value("My\u{202D}car")],
            "Vehicle name must not contain control or format characters"
        ),
        (
            "email", \.email,
            [
                .value(""), .value("x"), .value("a@b"), .value("@b.c"), .value("a@"), .value("a@b@c.d"), .value("a b@c.d"),
                .value("a@b..c"), .value("a@-b.c"), .unreadable, .value(String(repeating: "a", count: 65) + "@b.c"),
            ], "Invalid email format"
        ),
        ("email", \.email, [.absent, .null, .value("a+b.c@d-e.fg"), .value("dana@exämple.com")], nil),
        (
            "profileImage", \.profileImage,
            [
                .value(""), .value("x"), .value("ftp://a.b/c"), .value("https://"), .value("https:///x"),
                .value("https://user@a.b/"), .value("https://a b/"), .value("javascript:alert(1)"), .unreadable,
                .value("https://a/" + String(repeating: "x", count: 2_039)),
            ], "Invalid URL"
        ),
        ("profileImage", \.profileImage, [.absent, .null, .value("HTTPS://A.B:8443/c?d=e@f#g")], nil),
        ("licenseNumber", \.licenseNumber, [.absent, .null, .value(""), .value(" ")], "License number is required"),
        ("licenseImageUrl", \.licenseImageURL, [.absent, .null, .value("")], "License image is required"),
        ("licenseImageUrl", \.licenseImageURL, [.value("x"), .unreadable], "Invalid URL"),
        (
            "licenseExpiryDate", \.licenseExpiryDate,
            [.value("2026-11-21"), .value("2020-01-01"), .value("2026-11-21T23:59:59Z"), .value("2026-11-22T01:00:00+02:00")],
            "License expiry date must be in the future"
        ),
        ("licenseExpiryDate", \.licenseExpiryDate, [.absent, .null, .value("2026-11-22"), .value("2026-11-22T00:00:00Z")], nil),
        (
            "licenseExpiryDate", \.licenseExpiryDate,
            [.value(""), .value("2027-02-30"), .value("31.12.2027"), .value("2027-12-3"), .unreadable],
            "Expected a date such as 2027-12-31"
        ),
        ("vehicleName", \.vehicleName, [.absent, .value(" ")], "Vehicle name is required"),
        ("vehicleNumber", \.vehicleNumber, [.absent, .null, .value(" ")], "Vehicle number is required"),
        (
            "vehicleNumber", \.vehicleNumber,
            [.value("- -"), .value("12"), .value("XX12AB1234"), .value(String(repeating: "M", count: 21))],
            "Invalid vehicle number format"
        ),
        (
            "vehicleType", \.vehicleType, [.absent, .null, .value("bike"), .value("CAR"), .unreadable],
            "Vehicle type must be one of BIKE, SCOOTER, BICYCLE, OTHER"
        ),
    ]

    @Test(arguments: faults.indices) func everyFieldHasItsText(index: Int) throws {
        let (name, path, sent, text) = Self.faults[index]
        for value in sent {
            var form = AccountFixture.form
            form[keyPath: path] = value
            do throws(RuleError) {
                _ = try AccountFixture.read(form)
                #expect(text == nil, "\(name): \(value)")
            } catch {
                #expect(error.kind == .invalid && error.texts == text.map { [name: $0] }, "\(name): \(value)")
            }
        }
    }

    @Test func namesAllWrongFieldsAtOnce() {
        do throws(RuleError) {
            _ = try AccountFixture.read(RegistrationForm(), hasPhone: false)
            Issue.record("nothing is wrong")
        } catch {
            #expect(
                error.texts == [
                    "phone": "Phone number is required", "name": "Name is required",
                    "licenseNumber": "License number is required", "licenseImageUrl": "License image is required",
                    "vehicleName": "Vehicle name is required", "vehicleNumber": "Vehicle number is required",
                    "vehicleType": "Vehicle type must be one of BIKE, SCOOTER, BICYCLE, OTHER",
                    "vehicleDocuments": "At least one vehicle document is required",
                ])
        }
    }

    @Test func checksEachDocument() {
        var form = AccountFixture.form
        var wrong = RegistrationForm.Document()
        wrong.kind = .value("rc")
        wrong.expiryDate = .value("soon")
        form.vehicleDocuments = .value([form.vehicleDocuments.value![0], wrong])
        let texts = [
            "vehicleDocuments[1].type": "Document type must be one of RC, INSURANCE, PUC, OTHER",
            "vehicleDocuments[1].imageUrl": "Invalid URL",
            "vehicleDocuments[1].expiryDate": "Expected a date such as 2027-12-31",
        ]
        #expect(throws: RuleError(fields: texts.sorted { order($0.key) < order($1.key) }.map { .init($0.key, $0.value) })) {
            try AccountFixture.read(form)
        }
        form.vehicleDocuments = .value(Array(repeating: wrong, count: 11))
        #expect(throws: RuleError(fields: [.init("vehicleDocuments", "Expected at most 10 vehicle documents")])) {
            try AccountFixture.read(form)
        }
    }

    private func order(_ path: String) -> Int { [".type", ".imageUrl", ".expiryDate"].firstIndex { path.hasSuffix($0) } ?? 9 }

    @Test(arguments: [
        ("+919179621765", "+91", "9179621765"), ("+449179621765", "+91", "+449179621765"), ("+91", "+91", "+91"),
        ("+919179621765", "", "+919179621765"), ("+491711", "+49", "1711"),
    ])
    func thePhoneHasNoCountryCode(number: String, code: String, local: String) {
        #expect(DriverPhone.local(number, countryCode: code) == local)
    }
}
