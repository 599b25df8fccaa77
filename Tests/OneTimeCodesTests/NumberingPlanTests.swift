import Fleet
import Primitives
import Testing

@Suite struct NumberingPlanTests {
    private func number(_ code: String, _ phone: String) throws(RuleError) -> PhoneNumber {
        var form = LoginForm()
        (form.callingCode, form.country) = (.value(code), .value("xx"))
        (form.phone, form.userType) = (.value(phone), .value("customer"))
        return try form.number(countries: [])
    }

    @Test(arguments: [
        ("+44", "7911123456", "+447911123456"), ("+44", "07911123456", "+447911123456"),
        // An app may split the calling code wrongly; the digits tell.
        ("+4", "407911123456", "+447911123456"), ("+4", "47911123456", "+447911123456"),
        ("+91", "09179621765", "+919179621765"), ("+1", "02125550123", "+12125550123"), ("+7", "09161234567", "+79161234567"),
        ("+971", "0501234567", "+971501234567"), ("+353", "0861234567", "+353861234567"), ("+250", "0781234567", "+250781234567"),
        // Numbers that begin with the digits of their country's calling code.
        ("+91", "9179621765", "+919179621765"), ("+44", "4479111234", "+444479111234"),
        ("+91", "919179621765", "+91919179621765"),
    ])
    func aPhoneHasOneNumber(code: String, phone: String, text: String) throws {
        #expect(try number(code, phone).text == text)
    }

    @Test(arguments: [
        ("+39", "0669812345"), ("+378", "0549886377"), ("+241", "06031234"), ("+225", "0712345678"), ("+242", "061234567"),
        ("+226", "01234567"), ("+229", "0190123456"), ("+992", "012345678"), ("+881", "012345678"), ("+992", "001234567"),
    ])
    func aZeroOfTheNumberStays(code: String, phone: String) throws {
        #expect(try number(code, phone).text == code + phone)
    }

    @Test(arguments: [
        ("+44", "007911123456"), ("+44", "0007911123456"), ("+39", "0069812345"), ("+91", "00919179621765"),
        ("+044", "7911123456"), ("+0", "447911123456"), ("+44", "0123"), ("+4", "4007911123456"),
    ])
    func otherZerosAreRefused(code: String, phone: String) {
        #expect(throws: RuleError(.wrongPhone)) { try number(code, phone) }
    }

    @Test func thePrefixIsTheCallingCodeAndThreeDigits() {
        let prefixes = ["+447911123456", "+12125550123", "+971501234567", "+79161234567"].map(PhoneNumber.prefix(of:))
        #expect(prefixes == ["+44791", "+1212", "+971501", "+7916"])
    }
}
