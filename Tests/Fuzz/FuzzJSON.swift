import JSON

/// Any bytes as JSON: nothing crashes, what is accepted is UTF-8 and lies in the text, and each part of it is accepted
/// on its own and written back as it was read.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = UnsafeRawBufferPointer(start: start, count: count)
    let isAccepted = Text(text).isObject() || Text(text).isArray()
    if isAccepted { promise(String(validating: text, as: UTF8.self) != nil, "what is accepted is UTF-8") }
    return 0
}

private struct Text {
    private let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    func isObject() -> Bool {
        isAccepted {
            try JSONReader.object(bytes) { name, value in
                promise(name.kind == .string, "a name is a string")
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
            promise((0...bytes.count).contains(error.offset), "an error is at a place in the text")
            return false
        } catch {
            fatalError("\(error)")
        }
    }

    private func check(_ slice: JSONSlice) {
        promise(isInside(slice.raw), "a slice lies in its text")
        promise(!slice.raw.isEmpty, "a value has bytes")
        switch slice.kind {
        case .object: promise(Text(slice.raw).isObject(), "an object is accepted on its own")
        case .array: promise(Text(slice.raw).isArray(), "an array is accepted on its own")
        case .string: checkString(slice)
        case .number: promise(slice.integer == nil || slice.string == nil, "a number is no string")
        case .boolean, .null: promise(slice.string == nil && slice.integer == nil, "a literal is neither text nor number")
        }
    }

    private func checkString(_ slice: JSONSlice) {
        guard let content = slice.stringContent, let string = slice.string else { fatalError("a string has a text") }
        promise(isInside(content) && content.count == slice.raw.count - 2, "a string's content lies between its quotes")
        promise(slice.stringByteCount == string.utf8.count, "a text is as long as it says")
        if slice.equals("event") { promise(Array(string.utf8) == Array("event".utf8), "equal means equal bytes") }
        promise(Self.writtenAndRead(string).map { Array($0.utf8) } == Array(string.utf8), "a text survives writing")
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
