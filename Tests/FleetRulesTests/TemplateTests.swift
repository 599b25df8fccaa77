import Testing

@testable import Fleet

@Suite struct TemplateTests {
    static let values = ["name": "Ada", "a1_B": "x", "empty": "", "braces": "{name}", "accent": "\u{301}"]

    private func render(_ text: String) throws -> String {
        try Template(parsing: text).render { Self.values[$0] }
    }

    @Test(
        "A field is replaced by its value, which is not parsed again, or by the default",
        arguments: [
            ("", ""), ("plain", "plain"), ("{name}", "Ada"), ("Hi {name}, {name}!", "Hi Ada, Ada!"), ("{a1_B}", "x"),
            ("{gone}", ""), ("a{gone}b", "ab"), ("{gone|words}", "words"), ("{name|words}", "Ada"), ("{gone|}", ""),
            ("{empty|words}", "words"), ("{gone|two words, é | and more}", "two words, é | and more"),
            ("{braces}", "{name}"), ("{{name}}", "{name}"), ("{{{name}}}", "{Ada}"), ("}}{{", "}{"), ("a | b", "a | b"),
            ("£{name}", "£Ada"), ("{name}\u{301}", "Ada\u{301}"), ("e{accent}", "e\u{301}"), ("null", "null"),
        ])
    func rendered(text: String, expected: String) throws {
        #expect(try render(text).unicodeScalars.elementsEqual(expected.unicodeScalars))
    }

    @Test(
        "A syntax error gives the position of the character that causes it",
        arguments: [
            ("{", "expected a } after the { at character 1, or {{ for a plain {"),
            ("é: {name", "expected a } after the { at character 4, or {{ for a plain {"),
            ("{a{b}", "expected a } after the { at character 1, or {{ for a plain {"),
            ("{name|{a}}", "expected a } after the { at character 1, or {{ for a plain {"),
            ("}", "expected a { before the } at character 1, or }} for a plain }"),
            ("ab{name}}", "expected a { before the } at character 9, or }} for a plain }"),
            ("{}", "expected a field's name after the { at character 1: a letter, then letters, digits or _"),
            ("a {1a}", "expected a field's name after the { at character 3: a letter, then letters, digits or _"),
            ("{ name}", "expected a field's name after the { at character 1: a letter, then letters, digits or _"),
            ("{_a}", "expected a field's name after the { at character 1: a letter, then letters, digits or _"),
            ("{a-b}", "expected a field's name after the { at character 1: a letter, then letters, digits or _"),
            ("{é}", "expected a field's name after the { at character 1: a letter, then letters, digits or _"),
            ("{|words}", "expected a field's name after the { at character 1: a letter, then letters, digits or _"),
        ])
    func syntaxError(text: String, reason: String) {
        #expect(throws: Template.SyntaxError(reason: reason)) { try Template(parsing: text) }
    }

    @Test(
        "The first alternative applies whose fields without default all have values, else the last",
        arguments: [
            (["a": "1", "b": "2", "c": "3"], "1"), (["b": "2", "c": "3"], "2 and 3"), (["c": "3"], "C and 3"),
            (["b": "2"], "none "), ([:], "none "), (["a": "", "c": ""], "none "), (["d": "4"], "none 4"),
        ] as [([String: String], String)])
    func alternatives(values: [String: String], expected: String) {
        let template: Template = ["{a}", "{b|C} and {c}", "none {d}"]
        #expect(template.render { values[$0] } == expected)
        #expect(template.fields == ["a", "b", "c", "d"])
    }

    @Test("A combining accent after a brace does not hide the brace")
    func accents() throws {
        #expect(throws: Template.SyntaxError.self) { try Template(parsing: "{\u{301}name}") }
        #expect(try render("{gone|\u{301}}").unicodeScalars.elementsEqual("\u{301}".unicodeScalars))
    }

    @Test("Fields are listed in order, with repetitions")
    func fields() throws {
        #expect(try Template(parsing: "{b|x} {{c}} {a} {b}").fields == ["b", "a", "b"])
    }
}
