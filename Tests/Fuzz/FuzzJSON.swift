import JSON

/// Reads any bytes as JSON. Invariants: nothing crashes, accepted input is UTF-8, its slices lie within it, each object
/// or array in it is also accepted when read alone, and a string that is written and read again is unchanged.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = UnsafeRawBufferPointer(start: start, count: count)
    let isAccepted = Text(text).isObject() || Text(text).isArray()
    if isAccepted { invariant(String(validating: text, as: UTF8.self) != nil, "accepted input is UTF-8") }
    return 0
}

private struct Text {
    private let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    func isObject() -> Bool {
        isAccepted {
            try JSONReader.object(bytes) { name, value in
                invariant(name.kind == .string, "a name is a string")
                check(name)
                check(value)
            }
        }
    }

    func isArray() -> Bool {
        isAccepted { try JSONReader.array(bytes, check) }
    }

    private func isAccepted(_ read: () throws -> Void) -> Bool {
        do {
            try read()
            return true
        } catch let error as JSONError {
            invariant((0...bytes.count).contains(error.offset), "an error's offset is within the input")
            return false
        } catch {
            fatalError("\(error)")
        }
    }

    private func check(_ slice: JSONSlice) {
        invariant(isInside(slice.raw), "a slice lies within the input")
        invariant(!slice.raw.isEmpty, "a value has bytes")
        switch slice.kind {
        case .object: invariant(Text(slice.raw).isObject(), "an object is accepted by itself")
        case .array: invariant(Text(slice.raw).isArray(), "an array is accepted by itself")
        case .string: checkString(slice)
        case .number: invariant(slice.integer == nil || slice.string == nil, "a number is not a string")
        case .boolean, .null: invariant(slice.string == nil && slice.integer == nil, "a literal is neither a string nor a number")
        }
    }

    private func checkString(_ slice: JSONSlice) {
        guard let content = slice.stringContent, let string = slice.string else { fatalError("a string has content") }
        invariant(isInside(content) && content.count == slice.raw.count - 2, "a string's content lies between its quotes")
        invariant(slice.stringByteCount == string.utf8.count, "stringByteCount is the length in UTF-8")
        if slice.equals("event") { invariant(Array(string.utf8) == Array("event".utf8), "equal means equal bytes") }
        invariant(
            Self.writtenAndRead(string).map { Array($0.utf8) } == Array(string.utf8), "a string survives writing and reading")
    }

    private static func writtenAndRead(_ string: String) -> String? {
        var json = JSONWriter()
        json.raw("[")
        json.string(string)
        json.raw("]")
        var read: String?
        json.bytes.withUnsafeBytes { bytes in
            try? JSONReader.array(bytes) { read = $0.string }
        }
        return read
    }

    private func isInside(_ part: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress, let partStart = part.baseAddress else { return part.isEmpty }
        return partStart >= start && partStart + part.count <= start + bytes.count
    }
}
