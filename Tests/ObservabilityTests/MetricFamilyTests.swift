import Observability
import Testing

@Suite struct MetricFamilyTests {
    private func text(labels: MetricFamily.Labels) -> String {
        text([MetricFamily("m", .gauge, "h", samples: [(labels, "1")])])
    }

    private func text(_ families: [MetricFamily]) -> String { MetricsRegistry(prefix: "p", [{ families }]).text }

    @Test func writesAFamilyOfOneSample() {
        #expect(
            text([MetricFamily("connected", .gauge, "Open connections.", 3)]) == """
                # HELP p_connected Open connections.
                # TYPE p_connected gauge
                p_connected 3

                """)
    }

    @Test func writesFamiliesAndSamplesInTheOrderGiven() {
        let families = [
            MetricFamily(
                "close_total", .counter, "Closes by code.",
                samples: [([("code", "4200"), ("app", "1001")], "7"), ([("code", "1009"), ("app", "a")], "0"), ([], "0.5")]),
            MetricFamily("depth", .gauge, "Waiting.", -1),
        ]
        #expect(
            text(families) == """
                # HELP p_close_total Closes by code.
                # TYPE p_close_total counter
                p_close_total{code="4200",app="1001"} 7
                p_close_total{code="1009",app="a"} 0
                p_close_total 0.5
                # HELP p_depth Waiting.
                # TYPE p_depth gauge
                p_depth -1

                """)
    }

    @Test func writesHelpAndTypeWithoutSamples() {
        #expect(
            text([MetricFamily("m", .counter, "h", samples: [])]) == "# HELP p_m h\n# TYPE p_m counter\n")
        #expect(text([]) == "")
    }

    @Test func writesAnyInteger() {
        #expect(
            text([MetricFamily("m", .gauge, "h", UInt64.max)]).hasSuffix("\np_m 18446744073709551615\n"))
        #expect(text([MetricFamily("m", .gauge, "h", Int.min)]).hasSuffix("\np_m -9223372036854775808\n"))
    }

    static let values: [(value: String, escaped: String)] = [
        ("", ""), ("a b", "a b"), ("é😀", "é😀"), ("{}=,", "{}=,"), ("\t", "\t"), ("\"", #"\""#), ("\\", #"\\"#), ("\n", #"\n"#),
        ("\\n", #"\\n"#), ("a\"b\\c\nd", #"a\"b\\c\nd"#), ("\n\n", #"\n\n"#), ("\\\\", #"\\\\"#), (#"x"} 1"#, #"x\"} 1"#),
        // A newline is escaped even if Swift combines it with its neighbour into one character.
        ("\r\n", "\r\\n"), ("a\r\nb", "a\r\\nb"), ("\"\u{301}", "\\\"\u{301}"), ("\\\u{301}", "\\\\\u{301}"),
    ]

    @Test(arguments: values) func escapesLabelValues(value: String, escaped: String) {
        let sample = "p_m{l=\"\(escaped)\"} 1\n"
        // Compared as bytes, because `==` treats canonically equivalent strings as equal.
        #expect(Array(text(labels: [("l", value)]).utf8) == Array("# HELP p_m h\n# TYPE p_m gauge\n\(sample)".utf8))
    }
}
