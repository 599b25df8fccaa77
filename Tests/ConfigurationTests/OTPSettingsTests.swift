import Testing

@testable import Configuration

@Suite struct OTPSettingsTests {
    private static let secret = SafetyTests.secret
    private static let two = """
        auth: {jwt: [{secret: a, issuer: i}, {secret: b, issuer: j}, {algorithm: RS256, jwks_url: "https://k", issuer: r}]}

        """

    private func problems(_ yaml: String) -> [String] {
        do throws(ConfigurationErrors) {
            _ = try read(yaml).get()
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test func everyKeyIsRead() throws {
        let settings = try read(
            Self.two + """
                otp: {enabled: true, issuer: j, countries: ['+44', '+1'], daily_max: 5, prefix_daily_max: 4, \
                requests_per_address: 3, sms: {url: 'http://127.0.0.1:9/s', \
                secret: x, template: 'Code {code}', timeout_ms: 100}}
                """
        ).get()
        #expect(settings.otp.countries == ["+44", "+1"] && settings.otp.dailyMax == 5)
        #expect(settings.otp.prefixDailyMax == 4 && settings.otp.requestsPerAddress == 3)
        #expect(settings.otp.sms.timeoutMilliseconds == 100 && settings.otp.sms.template == "Code {code}")
        #expect(settings.codeIssuer?.secret == "b")
    }

    @Test func itIsOffByDefault() throws {
        let settings = try read("otp: {issuer: nobody}").get()
        #expect(!settings.otp.isEnabled && settings.codeIssuer == nil, "the issuer is checked only if it is used")
    }

    @Test func theIssuerMayBeEmptyIfOnlyOneEntryHasASecret() throws {
        let one = try read("auth: {jwt: {secret: a, issuer: i}}\notp: {enabled: true}").get()
        #expect(one.codeIssuer?.issuer == "i")
    }

    @Test(arguments: [
        (two + "otp: {enabled: true}", "otp.issuer: expected the issuer of an HS256 entry"),
        (two + "otp: {enabled: true, issuer: r}", "otp.issuer: expected the issuer of an HS256 entry"),
        (two + "otp: {enabled: true, issuer: I}", "otp.issuer: expected the issuer of an HS256 entry"),
        ("otp: {enabled: true}", "otp.issuer: expected the issuer of an HS256 entry"),
        ("otp: {countries: ['44']}", "otp.countries[0]: expected + and 1 to 3 digits"),
        ("otp: {daily_max: 0}", "otp.daily_max: expected an integer from 1 to 100000"),
        ("otp: {prefix_daily_max: 0}", "otp.prefix_daily_max: expected an integer from 1 to 100000"),
        ("otp: {requests_per_address: 1001}", "otp.requests_per_address: expected an integer from 1 to 1000"),
        ("otp: {sms: {url: 'http://sms.example', secret: a}}", "otp.sms.url: expected an https URL, or an http one on loopback"),
        ("otp: {sms: {url: 'https://sms.example'}}", "otp.sms.secret: expected a non-empty string, required with otp.sms.url"),
        ("otp: {sms: {template: 'no code'}}", "otp.sms.template: expected a text of at most 400 bytes with {code}"),
        ("otp: {sms: {timeout_ms: 3001}}", "otp.sms.timeout_ms: expected an integer from 100 to 3000"),
    ])
    func wrongValuesAreNamed(yaml: String, problem: String) {
        let problems = problems(yaml)
        #expect(problems.count == 1 && problems.first?.contains(problem) == true, "\(problems)")
    }

    @Test func allFaultsAreReportedAtOnce() {
        let yaml = "otp: {enabled: true, countries: [x], daily_max: 0, sms: {url: x, template: '', timeout_ms: 1}}"
        #expect(problems(yaml).count == 6)
    }

    @Test func productionNeedsCountriesAnAdapterAndALongSecret() throws {
        func refusals(_ otp: String) throws -> [String] {
            let sections = SafetyTests.safe.merging(["otp": otp]) { $1 }.map { "\($0): \($1)\n" }.sorted()
            return try read(sections.joined()).get().safetyErrors(inProduction: true, file: "").map(\.key)
        }
        #expect(try refusals("{enabled: false, sms: {secret: short}}") == [])
        #expect(try refusals("{enabled: true}") == ["otp.sms.secret", "otp.countries", "otp.sms.url"])
        let countries = "countries: ['+44']"
        #expect(try refusals("{enabled: true, \(countries), sms: {url: 'https://s', secret: short}}") == ["otp.sms.secret"])
        let whole = "sms: {url: 'https://s', secret: \(SafetyTests.secret(5))}"
        #expect(try refusals("{enabled: true, \(whole)}") == ["otp.countries"])
        #expect(try refusals("{enabled: true, \(countries), \(whole)}") == [])
    }
}
