import HTTP
import Testing

@Suite struct HTTPHeadersTests {
    @Test func keepsFieldsInTheOrderAdded() {
        var headers: HTTPHeaders = ["B": "1", "A": "2"]
        headers["C"] = "3"
        #expect(headers.fields.map(\.name) == ["B", "A", "C"])
        #expect(headers["A"] == "2" && headers["D"] == nil)
        headers["A"] = nil
        headers["D"] = nil
        #expect(headers == ["B": "1", "C": "3"])
    }

    @Test func addingReplacesFieldsOfTheSameName() {
        let headers: HTTPHeaders = ["A": "1", "B": "2"]
        #expect(headers.adding(["B": "3", "C": "4"]) == ["A": "1", "B": "3", "C": "4"])
        #expect(headers.adding([:]) == headers)
        #expect(([:] as HTTPHeaders).isEmpty && !headers.isEmpty)
    }
}
