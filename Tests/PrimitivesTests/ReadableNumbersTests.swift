import Primitives
import Testing

@Suite struct ReadableNumbersTests {
    @Test(arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (-1_234_567, "-1,234,567"), (100_000, "100,000")])
    func groupsDigits(number: Int, text: String) { #expect(number.grouped == text) }

    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1_000, "1.00 kB"), (12_345, "12.3 kB"), (999_499, "999 kB"), (999_500, "1.00 MB"),
        (3_000_000_000_000_000, "3,000 TB"),
    ])
    func writesBytes(count: Int, text: String) { #expect(count.byteText == text) }

    @Test(arguments: [(0, "0.00"), (0.307, "0.31"), (9.994, "9.99"), (9.996, "10.0"), (42.04, "42.0"), (99.96, "100")])
    func writesThreeDigits(number: Double, text: String) { #expect(number.threeDigits == text) }

    @Test func padsColumns() {
        #expect("ab".paddedLeft(to: 4) == "  ab")
        #expect("ab".paddedRight(to: 4) == "ab  ")
        #expect("abc".paddedLeft(to: 2) == "abc")
    }
}
