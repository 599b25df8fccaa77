import Access

extension Settings {
    /// Sign-in of customers by a code that is sent to the phone.
    package struct OTP: Equatable, Sendable {
        /// False: the paths below `/api/mobile/v1` are 404.
        package var isEnabled = false
        /// The `issuer` of the entry of `auth.jwt` whose secret signs the customers' tokens. It may be empty if only one
        /// entry has a secret.
        package var issuer = ""
        /// The calling codes whose phones may sign in, such as `+44`. Empty: all.
        package var countries: [String] = []
        /// The most SMS in a day (1–100,000). Half of them are kept for phones with an account.
        package var dailyMax = 10_000
        /// The most SMS in a day to phones without an account whose numbers have the same calling code and the same three
        /// digits behind it (1–100,000).
        package var prefixDailyMax = 500
        /// The most requests for codes of a client address in ten minutes (1–1,000). It may make five times as many tries.
        package var requestsPerAddress = 100
        package var sms = SMS()

        package init() {}
    }

    /// The operator's SMS adapter.
    package struct SMS: Equatable, Sendable {
        /// Where the adapter takes SMS: an https URL, or an http one on loopback. Empty: the log gets the codes.
        package var url = ""
        /// Signs the requests to the adapter.
        package var secret = ""
        /// The text of an SMS, with `{code}` where the code stands.
        package var template = "Your code is {code}. It is valid for 5 minutes."
        /// The time for one of three attempts (100–3,000). With three of 3,000, an app has its answer within 10 seconds.
        package var timeoutMilliseconds = 3_000

        package init() {}
    }

    /// The entry of `auth.jwt` whose secret signs the tokens of customers who sign in by code. Nil while that is off.
    package var codeIssuer: JWT? { otp.isEnabled ? otp.issuer(among: auth.jwt) : nil }
}

extension Settings.OTP {
    /// - Parameters:
    ///   - issuers: those of `auth.jwt`.
    ///   - areValid: whether these have no problem. If they have, the issuer is not checked, because its entry may be the
    ///     wrong one.
    mutating func read(_ section: Section, issuers: [Settings.JWT], areValid: Bool) {
        section.flag("enabled", into: &isEnabled)
        let location = section.text("issuer", into: &issuer, .any)
        section.texts("countries", into: &countries, .callingCode, mayBeEmpty: true)
        section.integer("daily_max", into: &dailyMax, 1...100_000)
        section.integer("prefix_daily_max", into: &prefixDailyMax, 1...100_000)
        section.integer("requests_per_address", into: &requestsPerAddress, 1...1_000)
        section.section("sms") { sms.read($0) }
        guard isEnabled, areValid, issuer(among: issuers) == nil else { return }
        section.reader.report(
            issuer.isEmpty
                ? "expected the issuer of an HS256 entry of auth.jwt, because not exactly one entry has a secret"
                : "expected the issuer of an HS256 entry of auth.jwt with a secret, found \(QuotedValue.of(issuer))",
            at: location ?? section.reader.location(section.path(to: "issuer"), section.line))
    }

    fileprivate func issuer(among issuers: [Settings.JWT]) -> Settings.JWT? {
        let candidates = issuers.filter { $0.algorithm == .hs256 && !$0.secret.isEmpty }
        if issuer.isEmpty { return candidates.count == 1 ? candidates[0] : nil }
        return candidates.first { $0.issuer.utf8.elementsEqual(issuer.utf8) }
    }
}

extension Settings.SMS {
    fileprivate mutating func read(_ section: Section) {
        section.url("url", into: &url, .keysURLOrNone, isHidden: true)
        let location = section.secret("secret", into: &secret, .any)
        section.text("template", into: &template, .smsTemplate)
        section.integer("timeout_ms", into: &timeoutMilliseconds, 100...3_000)
        guard !url.isEmpty, secret.isEmpty else { return }
        section.reader.report(
            "expected a non-empty string, required with \(section.path(to: "url")), found nothing",
            at: location ?? section.reader.location(section.path(to: "secret"), section.line))
    }
}

extension StringRule {
    fileprivate static let callingCode = StringRule("+ and 1 to 3 digits") { code in
        let digits = code.utf8.dropFirst()
        return code.utf8.first == UInt8(ascii: "+") && (1...3).contains(digits.count) && digits.allSatisfy(\.isDigit)
    }

    /// Longer texts would be sent as several SMS, each of which costs money.
    fileprivate static let smsTemplate = StringRule("a text of at most 400 bytes with {code}") {
        $0.contains("{code}") && $0.utf8.count <= 400 && !$0.utf8.contains(0)
    }
}
