import Fleet
import Primitives
import TestSupport
import Testing

/// What becomes of any text in a registration: it is kept byte for byte, but for the white space around it, or refused with an
/// error at its field.
@Suite struct RegistrationTextTests {
    private typealias Field = WritableKeyPath<RegistrationForm, SentField<String>> & Sendable
    private typealias Stored = KeyPath<Registration, String> & Sendable
    private static let fields: [(name: String, permitted: ClosedRange<Int>, field: Field, stored: Stored)] = [
        ("name", 2...100, \.name, \.name), ("licenseNumber", 1...50, \.licenseNumber, \.licenseNumber),
        ("vehicleName", 1...100, \.vehicleName, \.vehicleName),
    ]

    @Test(arguments: fields.indices) func isKeptByteForByteOrRefusedByName(index: Int) {
        let (name, permitted, field, stored) = Self.fields[index]
        var random = SplitMix(seed: UInt64(index) + 1)
        var accepted = 0
        for _ in 0..<2_000 {
            let text = GeneratedText(scalarsMax: permitted.upperBound, using: &random)
            let kept = text.trimmed
            let isRight = kept.isDisplayable && permitted.contains(kept.scalarCount)
            var form = AccountFixture.form
            form[keyPath: field] = .value(text.text)
            do throws(RuleError) {
                let registration = try AccountFixture.read(form)
                #expect(isRight, "\(name): \(text)")
                #expect(Array(registration[keyPath: stored].utf8) == Array(kept.text.utf8), "\(name): \(text)")
                accepted += 1
            } catch {
                #expect(!isRight && Set(error.fields.map(\.path)) == [name], "\(name): \(text): \(error)")
            }
        }
        #expect(accepted > 300)
    }
}
