import HTTP
import Primitives
import PusherAPI
import PusherProtocol

/// Those fields of an `application/x-www-form-urlencoded` body (the URL standard, section 5.1) that an endpoint asks for.
struct FormFields {
    private let names: [String]
    /// In the order of the names; nil if the form does not contain the field.
    private var values: [String?]

    /// - Parameter names: the names of the fields to read. Others are checked and skipped, because a form may have
    ///   thousands.
    /// - Throws: ``APIError`` with 400 if a percent escape is malformed, or if a field to read occurs twice.
    init(_ body: UnsafeRawBufferPointer, names: [String]) throws(APIError) {
        self.names = names
        values = Array(repeating: nil, count: names.count)
        var start = 0
        var nameEnd: Int?
        for index in 0...body.count {
            guard index < body.count, body[index] != UInt8(ascii: "&") else {
                if index > start { try read(body, start..<(nameEnd ?? index), valueEnd: index) }
                (start, nameEnd) = (index + 1, nil)
                continue
            }
            switch body[index] {
            case UInt8(ascii: "="): nameEnd = nameEnd ?? index
            case UInt8(ascii: "%"):
                guard PercentDecoding.escape(body, at: index) != nil else {
                    throw APIError(400, "The form contains a malformed percent escape")
                }
            default: break
            }
        }
    }

    /// The value of a field. Nil if the form does not contain it, or nobody asked for it.
    subscript(name: String) -> String? {
        names.firstIndex { $0.hasSameBytes(as: name) }.flatMap { values[$0] }
    }

    private mutating func read(_ body: UnsafeRawBufferPointer, _ range: Range<Int>, valueEnd: Int) throws(APIError) {
        let name = UnsafeRawBufferPointer(rebasing: body[range])
        // Decoding only shortens.
        guard let index = names.firstIndex(where: { $0.utf8.count <= name.count && PercentDecoding.equals(name, $0, .query) })
        else { return }
        guard values[index] == nil else { throw APIError(400, "Expected \"\(names[index])\" at most once") }
        let value = UnsafeRawBufferPointer(rebasing: body[min(range.upperBound + 1, valueEnd)..<valueEnd])
        values[index] = PercentDecoding.text(value, .query)
    }
}
