import Fleet

extension Settings {
    /// Drivers' accounts: registration by the drivers themselves, and approval by dispatchers.
    package struct Accounts: Equatable, Sendable {
        /// False: the gateway keeps no accounts, and their paths are 404.
        package var isEnabled = false
        /// The fleet's country code, which phone numbers of accounts do not have: `+` and 1 to 3 digits, or "".
        package var countryCode = "+91"
        /// The regular expression that the numbers of vehicles match, in upper case and without spaces and hyphens.
        package var vehicleNumberPattern = VehicleNumberPattern.standard.text

        /// Shown with drivers' earnings; may be empty.
        package var currency = ""
        /// The time zone whose days drivers' summaries cover, unless the app sends one.
        package var timeZone = "UTC"

        package init() {}

        mutating func read(_ section: Section) {
            section.flag("enabled", into: &isEnabled)
            section.text("country_code", into: &countryCode, .countryCode)
            section.text("vehicle_number_pattern", into: &vehicleNumberPattern, .vehicleNumberPattern)
            section.text("currency", into: &currency, .currency)
            section.text("time_zone", into: &timeZone, .timeZone)
        }
    }
}

extension StringRule {
    fileprivate static let countryCode = StringRule("+ and 1 to 3 digits, or \"\"") { code in
        let digits = code.utf8.dropFirst()
        return code.isEmpty
            || (code.utf8.first == UInt8(ascii: "+") && (1...3).contains(digits.count) && digits.allSatisfy(\.isDigit))
    }

    fileprivate static let currency = StringRule("a currency's name of at most 10 characters, such as INR") {
        $0.unicodeScalars.count <= 10 && $0.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Whether it is in the time zone database is checked by the gateway (`Settings.unusableKeys`).
    fileprivate static let timeZone = StringRule("a time zone such as Europe/London") { !$0.isEmpty }

    fileprivate static let vehicleNumberPattern = StringRule("a regular expression") {
        !$0.isEmpty && VehicleNumberPattern($0) != nil
    }
}
