import Testing

@testable import Configuration

@Suite struct VariableExpansionTests {
    static let variables = ["NAME": "value", "_a1": "", "NESTED": "${NAME}", "FILE": "file:secret", "DIR": "/run"]
    static let files = [
        "conf/secret": "s3cret\n", "/run/token": "t\r\n", "conf/two": "a\n\n", "conf/dollar": "${NAME}", "conf/": "",
    ]

    private func resolve(_ written: String) throws(VariableExpansion.Failure) -> String {
        let expansion = VariableExpansion(environment: Self.variables, directory: "conf/") { path throws(UnreadableFile) in
            guard let content = Self.files[path] else { throw UnreadableFile(reason: "gone") }
            return content
        }
        return try expansion.resolve(written)
    }

    @Test(
        "References are replaced once: a reference in the inserted text stays as it is",
        arguments: [
            ("plain", "plain"), ("", ""), ("${NAME}", "value"), ("a${NAME}b${NAME}", "avaluebvalue"), ("${_a1}", ""),
            ("$${NAME}", "${NAME}"), ("$$${NAME}", "$${NAME}"), ("$NAME $ $$ {NAME}", "$NAME $ $$ {NAME}"), ("$", "$"),
            ("${NESTED}", "${NAME}"), ("${FILE}", "file:secret"), ("a file:secret", "a file:secret"),
            ("file:secret", "s3cret"), ("file:/run/token", "t"), ("file:${DIR}/token", "t"), ("file:two", "a\n"),
            ("file:dollar", "${NAME}"), ("é${NAME}\u{301}", "évalue\u{301}"),
        ])
    func replaced(written: String, text: String) throws {
        #expect(try resolve(written).unicodeScalars.elementsEqual(text.unicodeScalars))
    }

    @Test(
        "The error for a reference that cannot be expanded names the reference",
        arguments: [
            ("${UNSET}", "${UNSET} is not set"), ("${name}", "${name} is not set"),
            ("file:none", "cannot read \"conf/none\": gone"), ("file:", "expected a path after file:"),
            ("file:${UNSET}", "${UNSET} is not set"),
        ])
    func failures(written: String, reason: String) {
        #expect(throws: VariableExpansion.Failure(reason: reason)) { try resolve(written) }
    }

    @Test(
        "${ that is not followed by a variable's name and } is an error",
        arguments: ["${", "${}", "a${b", "${1}", "${a b}", "${a-b}", "${é}", "${\u{301}}"])
    func malformed(written: String) {
        let reason = "expected a variable's name and } after ${; write $${ for a literal ${"
        #expect(throws: VariableExpansion.Failure(reason: reason)) { try resolve(written) }
    }

    @Test("Any value can contain references")
    func everywhere() throws {
        let yaml = """
            server: {port: "${PORT}"}
            apps: [{id: "${ID}", key: k, secret: file:app.secret, enabled: "${ON}"}]
            """
        let environment = ["PORT": "0", "ID": "7", "ON": "false", "FLEETWIRE_METRICS_TOKEN": "file:token"]
        let settings = try read(yaml, environment, files: ["app.secret": "s\n", "token": "t"]).get()
        #expect(settings.server.port == 0)
        #expect(settings.apps[0].id == "7")
        #expect(settings.apps[0].secrets == ["s"])
        #expect(!settings.apps[0].enabled)
        #expect(settings.metrics.token == "t")
    }

    @Test("Each element of a list can contain references")
    func lists() throws {
        let yaml = "apps: [{id: a, key: k, secrets: [\"${NEW}\", file:old], allowed_origins: [\"https://${HOST}\"]}]"
        let settings = try read(yaml, ["NEW": "n", "HOST": "*.example.com"], files: ["old": "o\n"]).get()
        #expect(settings.apps[0].secrets == ["n", "o"])
        #expect(settings.apps[0].allowedOrigins == ["https://*.example.com"])
    }

    @Test("An unset variable is reported at the value that refers to it")
    func location() {
        #expect(
            problems("log: {}\nmetrics:\n  token: ${TOKEN}") == ["c.yaml:3: metrics.token: ${TOKEN} is not set"])
        #expect(
            problems("", ["FLEETWIRE_METRICS_TOKEN": "${TOKEN}"]) == ["FLEETWIRE_METRICS_TOKEN: ${TOKEN} is not set"])
    }
}
