import Fleet
import Primitives
import Testing

@Suite struct CustomerTests {
    private static var form: LoginForm {
        var form = LoginForm()
        (form.callingCode, form.country) = (.value("+44"), .value("GB"))
        (form.phone, form.userType) = (.value("2071838750"), .value("customer"))
        return form
    }

    @Test func readsANumber() throws {
        let number = try Self.form.number(countries: ["+1", "+44"])
        #expect(number.text == "+442071838750" && number.country == "gb" && number.callingCode == "+44")
    }

    private typealias Path = WritableKeyPath<LoginForm, SentField<String>> & Sendable
    private static let faults: [(Path, [SentField<String>], RuleError.Code)] = [
        (
            \.callingCode, [.absent, .null, .unreadable, .value("44"), .value("+"), .value("+1234"), .value("+４")],
            .wrongCallingPrefix
        ),
        (
            \.country, [.absent, .unreadable, .value("g"), .value("gbr"), .value("1a"), .value("é")],
            .wrongCountry
        ),
        (
            \.phone,
            [
                .absent, .null, .unreadable, .value("123"), .value("12a4567"), .value("12345678901234"), .value("20718 3875"),
                .value("-1234"),
            ],
            .wrongPhone
        ),
        (\.userType, [.absent, .null, .value("driver"), .value("Customer")], .wrongUserType),
    ]

    @Test(arguments: faults.indices) func namesTheFault(index: Int) {
        let (path, values, code) = Self.faults[index]
        for value in values {
            var form = Self.form
            form[keyPath: path] = value
            #expect(throws: RuleError(code)) { try form.number(countries: []) }
        }
    }

    @Test func otherCountriesAreRefused() {
        #expect(throws: RuleError(.countryNotServed)) {
            try Self.form.number(countries: ["+1", "+4"])
        }
    }

    @Test(arguments: [
        SentField.absent, .null, .unreadable, .value(""), .value("12345"), .value("1234567"), .value("12345a"), .value("１２３４５６"),
    ])
    func aCodeHasSixDigits(field: SentField<String>) throws {
        #expect(throws: RuleError(.notSixDigits)) { try TypedCode.read(field) }
        #expect(try TypedCode.read(.value("012345")) == "012345")
    }

    @Test(arguments: ["123 456", " 123456\n", "12 34 56", "123\u{A0}456", "123\u{2009}456"])
    func spacesOfATypedCodeGo(text: String) throws {
        #expect(try TypedCode.read(.value(text)) == "123456")
        #expect(throws: RuleError.self) { try TypedCode.read(.value(text + "7")) }
        #expect(throws: RuleError.self) { try TypedCode.read(.value("123-456")) }
    }

    // MARK: Registration

    @Test(
        arguments: [
            (false, false, "basic_details", "credit_card", 25, "navigate_to_basic_info"),
            (true, false, "credit_card", "profile_complete", 50, "navigate_to_credit_card"),
            (true, true, nil, nil, 100, "navigate_to_dashboard"),
        ] as [(Bool, Bool, String?, String?, Int, String)])
    func theStepsOfARegistration(
        basic: Bool, payment: Bool, current: String?, next: String?, percentage: Int, action: String
    ) {
        let state = CustomerRegistration(hasBasicDetails: basic, hasPayment: payment)
        #expect(state.current?.rawValue == current && state.next?.rawValue == next)
        #expect(state.percentage == percentage && state.action == action && state.isComplete == payment)
        #expect(state.done.count == percentage / 25)
        let mayPay = (try? state.checkMayPay()) != nil
        #expect(mayPay == basic)
    }

    @Test(arguments: ["An\u{202E}na", "An\nna", "An\u{2028}na", "An\u{200B}na"]) func nameHidesNothing(name: String) {
        #expect(throws: RuleError(.controlCharacters)) {
            try BasicDetails(name: .value(name), email: .value("a@b.c"))
        }
    }

    @Test func readsBasicDetails() throws {
        let details = try BasicDetails(name: .value("Ann Öz"), email: .value("Ann.Oz@Example.COM"))
        #expect(details.email == "Ann.Oz@Example.COM" && details.emailKey == "ann.oz@example.com")
        let pasted = try BasicDetails(name: .value("\u{A0}Ann Öz \n"), email: .value("\u{2003}ann@example.com\u{A0}"))
        #expect(pasted.name == "Ann Öz" && pasted.email == "ann@example.com")
        for name in [
            SentField.absent, .null, .value("A"), .value("   "), .value("\u{A0}A\u{2003}"),
            .value(String(repeating: "x", count: 101)),
        ] {
            #expect(throws: RuleError(.wrongName)) {
                try BasicDetails(name: name, email: .value("a@b.c"))
            }
        }
        #expect(throws: RuleError(.wrongEmail)) {
            try BasicDetails(name: .value("Ann"), email: .value("ann"))
        }
    }

    @Test func readsAPaymentMethod() throws {
        func read(
            token: SentField<String> = .value("tok_1"), brand: SentField<String> = .absent, last4: SentField<String> = .null,
            month: SentField<Int> = .absent, year: SentField<Int> = .absent
        ) throws(RuleError) -> PaymentMethod {
            try PaymentMethod(token: token, brand: brand, last4: last4, expiryMonth: month, expiryYear: year)
        }
        let whole = try read(brand: .value("visa"), last4: .value("0042"), month: .value(12), year: .value(2_030))
        #expect(whole.last4 == "0042" && whole.expiryMonth == 12 && whole.expiryYear == 2_030 && whole.brand == "visa")
        #expect(try read().last4 == nil)
        func text(_ make: () throws(RuleError) -> PaymentMethod) -> String? {
            do throws(RuleError) { _ = try make() } catch { return error.text }
            return nil
        }
        #expect(text { () throws(RuleError) in try read(token: .value("")) }?.contains("payment_token") == true)
        #expect(text { () throws(RuleError) in try read(brand: .unreadable) }?.contains("brand") == true)
        #expect(text { () throws(RuleError) in try read(last4: .value("42")) }?.contains("last4") == true)
        #expect(text { () throws(RuleError) in try read(month: .value(13)) }?.contains("expiry_month") == true)
        #expect(text { () throws(RuleError) in try read(year: .value(30)) }?.contains("expiry_year") == true)
    }
}
