import HTTPClient
import Testing

@Suite struct FreshnessTests {
    @Test(
        "max-age says for how many seconds a response is fresh",
        arguments: [
            ("max-age=300", 300), ("public, max-age=3600, must-revalidate", 3_600), ("Max-Age=5", 5), ("\tmax-age=0 ", 0),
            ("max-age=\"60\"", 60), ("s-maxage=5,max-age=6", 6), ("max-age=7, max-age=8", 7),
            ("max-age=99999999999999999999", .max),
            ("", nil), ("public", nil), ("max-age", nil), ("max-age=", nil), ("max-age=-1", nil), ("max-age=1.5", nil),
            ("max-age=x", nil), ("s-maxage=5", nil), ("xmax-age=5", nil), ("max-age=５", nil),
        ] as [(String, Int64?)])
    func maxAge(field: String, expected: Int64?) {
        #expect(HTTPClientResponse(status: 200, headers: ["cache-control": field]).maxAgeSeconds == expected)
    }

    @Test func responseWithoutTheFieldDoesNotSaySo() {
        #expect(HTTPClientResponse(status: 200).maxAgeSeconds == nil)
    }
}
