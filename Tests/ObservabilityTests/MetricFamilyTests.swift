import Observability
import Testing

@Suite struct MetricFamilyTests {
    private func text(labels: [(name: String, value: String)]) -> String {
        MetricFamily.text([MetricFamily("m", .gauge, help: "h", samples: [(labels, "1")])])
    }

    @Test func writesAFamilyOfOneSample() {
        #expect(
            MetricFamily.text([MetricFamily("fleetwire_connected", .gauge, help: "Open connections.", value: 3)]) == """
                # HELP fleetwire_connected Open connections.
                # TYPE fleetwire_connected gauge
                fleetwire_connected 3

                """)
    }

    @Test func writesFamiliesAndSamplesInTheOrderGiven() {
        let families = [
            MetricFamily(
                "close_total", .counter, help: "Closes by code.",
                samples: [([("code", "4200"), ("app", "1001")], "7"), ([("code", "1009"), ("app", "a")], "0"), ([], "0.5")]),
            MetricFamily("depth", .gauge, help: "Waiting.", value: -1),
        ]
        #expect(
            MetricFamily.text(families) == """
                # HELP close_total Closes by code.
                # TYPE close_total counter
                close_total{code="4200",app="1001"} 7
                close_total{code="1009",app="a"} 0
                close_total 0.5
                # HELP depth Waiting.
                # TYPE depth gauge
                depth -1

                """)
    }

    @Test func writesHelpAndTypeWithoutSamples() {
        #expect(
            MetricFamily.text([MetricFamily("m", .counter, help: "h", samples: [])]) == "# HELP m h\n# TYPE m counter\n")
        #expect(MetricFamily.text([]) == "")
    }

    @Test func writesAnyInteger() {
        #expect(
            MetricFamily.text([MetricFamily("m", .gauge, help: "h", value: UInt64.max)]).hasSuffix("\nm 18446744073709551615\n"))
        #expect(MetricFamily.text([MetricFamily("m", .gauge, help: "h", value: Int.min)]).hasSuffix("\nm -9223372036854775808\n"))
    }

    static let values: [(value: String, escaped: String)] = [
        ("", ""), ("a b", "a b"), ("é😀", "é😀"), ("{}=,", "{}=,"), ("\t", "\t"), ("\"", #"\""#), ("\\", #"\\"#), ("\n", #"\n"#),
        ("\\n", #"\\n"#), ("a\"b\\c\nd", #"a\"b\\c\nd"#), ("\n\n", #"\n\n"#), ("\\\\", #"\\\\"#), (#"x"} 1"#, #"x\"} 1"#),
        // A newline is escaped even if Swift combines it with its neighbour into one character.
        ("\r\n", "\r\\n"), ("a\r\nb", "a\r\\nb"), ("\"\u{301}", "\\\"\u{301}"), ("\\\u{301}", "\\\\\u{301}"),
    ]

    @Test(arguments: values) func escapesLabelValues(value: String, escaped: String) {
        let sample = "m{l=\"\(escaped)\"} 1\n"
        // Compared as bytes, because `==` treats canonically equivalent strings as equal.
        #expect(Array(text(labels: [("l", value)]).utf8) == Array("# HELP m h\n# TYPE m gauge\n\(sample)".utf8))
    }
}
