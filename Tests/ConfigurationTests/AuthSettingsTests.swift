import Access
import Testing

@testable import Configuration

@Suite struct AuthSettingsTests {
    static let key = "-----BEGIN PUBLIC KEY-----\nQUJD\n-----END PUBLIC KEY-----"
    static let files = ["k.pem": key + "\n", "secret": "hunter2\n", "certs/k.pem": key]

    /// The issuers of a file that sets `auth.jwt` to this map or list.
    private func jwt(_ map: String, _ environment: [String: String] = [:]) throws -> [Settings.JWT] {
        try read("auth: {jwt: \(map)}", environment, files: Self.files).get().auth.jwt
    }

    @Test(
        "A single issuer without a secret or key is permitted, and accepts no token",
        arguments: ["", "~", "{}", "[{}]", "{algorithm: HS256}"])
    func disabled(map: String) throws {
        let entries = try jwt(map)
        #expect(entries == [Settings.JWT()])
        #expect(!entries[0].isEnabled)
    }

    @Test("Every configuration key of an issuer sets its field")
    func everyKey() throws {
        var expected = Settings.JWT()
        expected.secret = "hunter2"
        expected.issuer = "https://i.example"
        expected.audience = "fleet"
        expected.cookie = "__Host-token"
        let rest = "issuer: https://i.example, audience: fleet, cookie: __Host-token"
        #expect(try jwt("{algorithm: HS256, secret: file:secret, \(rest)}") == [expected])
        #expect(expected.isEnabled)
        expected.secret = ""
        expected.algorithm = .rs256
        expected.publicKey = Self.key
        #expect(try jwt("{algorithm: RS256, public_key: file:k.pem, \(rest)}") == [expected])
        #expect(expected.isEnabled)
        expected.publicKey = ""
        expected.algorithm = .es256
        expected.jwksURL = "http://localhost:9/keys"
        #expect(try jwt("{algorithm: ES256, jwks_url: http://localhost:9/keys, \(rest)}") == [expected])
        #expect(expected.isEnabled)
    }

    @Test("A list of issuers keeps its order")
    func several() throws {
        let entries = try jwt("[{secret: a, issuer: i}, {algorithm: ES256, public_key: file:k.pem, issuer: j}]")
        #expect(entries.map(\.issuer) == ["i", "j"])
        #expect(entries.map(\.algorithm) == [.hs256, .es256])
        #expect(try jwt("[{secret: a}]").map(\.secret) == ["a"])
    }

    @Test("Variables override and add values of a single issuer, but not of an issuer in a list")
    func environment() throws {
        #expect(try jwt("{secret: a}", ["FLEETWIRE_AUTH_JWT_SECRET": "b"])[0].secret == "b")
        #expect(try read("", ["FLEETWIRE_AUTH_JWT_SECRET": "b"]).get().auth.jwt[0].secret == "b")
        let entry = try jwt(
            "{algorithm: RS256}", ["FLEETWIRE_AUTH_JWT_PUBLIC_KEY": "file:certs/k.pem", "FLEETWIRE_AUTH_JWT_SECRET": ""])[0]
        #expect(entry.publicKey == Self.key)
        #expect(
            problems("auth: {jwt: [{secret: a}]}", ["FLEETWIRE_AUTH_JWT_SECRET": "b"])
                == ["FLEETWIRE_AUTH_JWT_SECRET: unknown variable; auth.jwt is a list, which only the file can set"])
    }

    typealias Case = ConfigurationErrorTests.Case

    static let wrongKeys = [
        Case("{public_key: file:k.pem}", "c.yaml:1: auth.jwt.public_key: expected secret for HS256, found public_key"),
        Case("{jwks_url: https://a}", "c.yaml:1: auth.jwt.jwks_url: expected secret for HS256, found jwks_url"),
        Case(
            "{secret: hunter2, public_key: file:k.pem}",
            "c.yaml:1: auth.jwt.public_key: expected secret for HS256, found public_key"),
        Case(
            "{algorithm: RS256, secret: hunter2}",
            "c.yaml:1: auth.jwt.secret: expected public_key or jwks_url for RS256, found secret"),
        Case(
            "{algorithm: ES256, secret: hunter2, jwks_url: https://a}",
            "c.yaml:1: auth.jwt.secret: expected public_key or jwks_url for ES256, found secret"),
        Case(
            "{algorithm: ES256, public_key: file:k.pem, jwks_url: https://a}",
            "c.yaml:1: auth.jwt.jwks_url: expected public_key or jwks_url for ES256, found both"),
    ]

    static let wrongLists = [
        Case(
            "[{secret: a, issuer: i},\n\n{algorithm: RS256, issuer: j},\n{issuer: k}]",
            "c.yaml:3: auth.jwt[1]: expected public_key or jwks_url for RS256, found nothing",
            "c.yaml:4: auth.jwt[2]: expected secret for HS256, found nothing"),
        Case(
            "[\n{secret: a, issuer: i},\n{secret: b, issuer: i}]",
            "c.yaml:3: auth.jwt[1].issuer: expected a unique issuer, found \"i\", the same as auth.jwt[0].issuer"),
        Case(
            "[\n{secret: a, issuer: i},\n{secret: b},\n{secret: c, issuer: ''}]",
            "c.yaml:3: auth.jwt[1].issuer: expected an issuer (required if auth.jwt has several entries), found nothing",
            "c.yaml:4: auth.jwt[2].issuer: expected an issuer (required if auth.jwt has several entries), found \"\""),
        Case("[]", "c.yaml:1: auth.jwt: expected a list of at least one map, found an empty list"),
        Case("[hunter2]", "c.yaml:1: auth.jwt[0]: expected a map, found a string"),
        Case("hunter2", "c.yaml:1: auth.jwt: expected a map, found a string"),
    ]

    static let wrongValues = [
        Case("{algorithm: none}", "c.yaml:1: auth.jwt.algorithm: expected HS256, RS256 or ES256, found \"none\""),
        Case("{algorithm: HS512}", "c.yaml:1: auth.jwt.algorithm: expected HS256, RS256 or ES256, found \"HS512\""),
        Case("{algorithm: hs256}", "c.yaml:1: auth.jwt.algorithm: expected HS256, RS256 or ES256, found \"hs256\""),
        Case("{secret: [hunter2]}", "c.yaml:1: auth.jwt.secret: expected a string, found a list"),
        Case(
            "{algorithm: RS256, public_key: hunter2}",
            "c.yaml:1: auth.jwt.public_key: expected a public key in PEM, usually as file:PATH, or \"\", "
                + "found a value of 7 characters"),
        Case(
            "{algorithm: RS256, public_key: file:none}",
            "c.yaml:1: auth.jwt.public_key: cannot read \"none\": No such file or directory"),
        Case(
            "{jwks_url: http://a}",
            "c.yaml:1: auth.jwt.jwks_url: expected an https URL, or an http one on loopback, or \"\", found \"http://a\""),
        Case("{cookie: a=b}", "c.yaml:1: auth.jwt.cookie: expected a cookie's name, or \"\", found \"a=b\""),
        Case("{algoritm: HS256}", "c.yaml:1: auth.jwt.algoritm: unknown key; did you mean auth.jwt.algorithm?"),
        Case("{isuer: i}", "c.yaml:1: auth.jwt.isuer: unknown key; did you mean auth.jwt.issuer?"),
        Case("[{isuer: i}]", "c.yaml:1: auth.jwt[0].isuer: unknown key; did you mean auth.jwt[0].issuer?"),
    ]

    @Test("An error names its location and does not show a secret", arguments: wrongKeys + wrongLists + wrongValues)
    func error(_ example: Case) {
        #expect(problems("{auth: {jwt: \(example.yaml)}}", files: Self.files) == example.lines)
    }

    @Test("An error caused by a variable names the variable")
    func variable() {
        #expect(
            problems("auth: {jwt: {algorithm: RS256}}", ["FLEETWIRE_AUTH_JWT_SECRET": "hunter2"])
                == ["FLEETWIRE_AUTH_JWT_SECRET: expected public_key or jwks_url for RS256, found secret"])
    }

    @Test("Every key of auth.introspection sets its field")
    func introspection() throws {
        let yaml = "{url: http://localhost:9/i?p=1, client_id: f, client_secret: s, cache_seconds: 3600, timeout_ms: 10000}"
        var expected = Settings.Introspection()
        #expect(!expected.isEnabled && expected.cacheSeconds == 60 && expected.timeoutMilliseconds == 1_000)
        expected.url = "http://localhost:9/i?p=1"
        (expected.clientID, expected.clientSecret) = ("f", "s")
        (expected.cacheSeconds, expected.timeoutMilliseconds) = (3_600, 10_000)
        #expect(try read("auth: {introspection: \(yaml)}").get().auth.introspection == expected)
        #expect(expected.isEnabled)
    }

    @Test(
        "A wrong key of auth.introspection is named, and its value not shown",
        arguments: [
            (
                "{url: http://a.example/hunter2}",
                "url: expected an https URL, or an http one on loopback, or \"\", found a value of 24 characters"
            ),
            (
                "{url: https://a, client_id: f}",
                "client_secret: expected a non-empty string, required with "
                    + "auth.introspection.client_id, found nothing"
            ),
            (
                "{url: https://a, client_secret: hunter2}",
                "client_id: expected a non-empty string, required with "
                    + "auth.introspection.client_secret, found nothing"
            ),
            ("{cache_seconds: 3601}", "cache_seconds: expected an integer from 0 to 3600, found \"3601\""),
            ("{timeout_ms: 99}", "timeout_ms: expected an integer from 100 to 10000, found \"99\""),
        ])
    func wrongIntrospection(yaml: String, problem: String) {
        #expect(problems("auth: {introspection: \(yaml)}") == ["c.yaml:1: auth.introspection.\(problem)"])
    }

    @Test func replayProtectionIsOffByDefault() throws {
        #expect(try !read("").get().auth.replayProtection)
        #expect(try read("auth: {replay_protection: true}").get().auth.replayProtection)
    }

    @Test("Every key of auth.firebase sets its field")
    func firebase() throws {
        let yaml = "auth: {firebase: {project_id: fleet-1, certificates_url: \"http://127.0.0.1:9/c\", role: customer}}"
        let firebase = try read(yaml).get().auth.firebase
        #expect(firebase.projectID == "fleet-1")
        #expect(firebase.isEnabled)
        #expect(firebase.certificatesURL == "http://127.0.0.1:9/c")
        #expect(firebase.role == .customer)
        for role in Role.allCases {
            #expect(try read("auth: {firebase: {role: \(role.rawValue)}}").get().auth.firebase.role == role)
        }
    }

    @Test("White space around a URL does not count, wherever it comes from")
    func urlsAreTrimmed() throws {
        let yaml = """
            auth: {jwt: {algorithm: RS256, jwks_url: file:u}, firebase: {certificates_url: ' https://u/c '},
              introspection: {url: file:u, client_id: f, client_secret: s}}
            push: {fcm: {base_url: file:b}}
            console: {tile_url: "${T}"}
            """
        let texts = ["u": "\n https://u/c\r\n\n", "b": "https://b \n\n"]
        let settings = try read(yaml, ["T": "https://t/{z}/{x}/{y}\n"], files: texts).get()
        let auth = settings.auth
        #expect(auth.jwt[0].jwksURL == "https://u/c" && auth.firebase.certificatesURL == "https://u/c")
        #expect(auth.introspection.url == "https://u/c")
        #expect(settings.push.fcm.baseURL == "https://b" && settings.console.tileURL == "https://t/{z}/{x}/{y}")
    }

    @Test(
        "An error about auth.firebase names its location",
        arguments: [
            ("{project_id: Fleet}", "project_id: expected up to 64 lower-case letters, digits or -, found \"Fleet\""),
            ("{certificates_url: ''}", "certificates_url: expected an https URL, or an http one on loopback, found \"\""),
            (
                "{certificates_url: 'http://keys.example/c'}",
                "certificates_url: expected an https URL, or an http one on loopback, found \"http://keys.example/c\""
            ),
            ("{role: boss}", "role: expected driver, admin, customer or ops, found \"boss\""),
            ("{project: a}", "project: unknown key; did you mean auth.firebase.project_id?"),
        ])
    func firebaseError(yaml: String, line: String) {
        #expect(problems("auth: {firebase: \(yaml)}") == ["c.yaml:1: auth.firebase.\(line)"])
    }
}
