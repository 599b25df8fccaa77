import TestSupport
import Testing

@testable import JSON

/// Random texts: valid JSON is read as written, and mutated JSON is read or rejected without a crash.
extension JSONReaderTests {
    @Test(arguments: UInt64(1)...20) func readsRandomJSON(seed: UInt64) throws {
        var writer = RandomJSON(seed: seed)
        for _ in 0..<50 {
            let written = writer.object(depth: 6)
            let read = try JSONValue.members(of: written.bytes)
            try expectSame(read, written.children)
        }
    }

    private func expectSame(_ read: [JSONValue], _ written: [RandomJSON.Written]) throws {
        #expect(read.map(\.key) == written.map(\.key))
        #expect(read.map(\.raw) == written.map(\.bytes))
        #expect(read.map(\.kind) == written.map(\.kind))
        #expect(read.map(\.text) == written.map(\.text))
        // The bytes of a value are themselves a complete JSON text.
        for value in written where value.kind == .object { try expectSame(JSONValue.members(of: value.bytes), value.children) }
        for value in written where value.kind == .array { try expectSame(JSONValue.elements(of: value.bytes), value.children) }
    }

    @Test(arguments: UInt64(1)...20) func survivesMutatedJSON(seed: UInt64) {
        var writer = RandomJSON(seed: seed)
        for _ in 0..<100 {
            let original = writer.object(depth: 4).bytes
            for _ in 0..<10 {
                let mutant = writer.mutated(original)
                do {
                    let members = try JSONValue.members(of: mutant)
                    let isUTF8 = String(validating: mutant, as: UTF8.self) != nil
                    #expect(isUTF8 && members.allSatisfy { !$0.raw.isEmpty }, "\(mutant)")
                } catch let error as JSONError {
                    #expect((0...mutant.count).contains(error.offset), "\(mutant)")
                } catch {
                    Issue.record(error)
                }
            }
        }
    }
}

/// Writes random JSON, and records what it wrote.
struct RandomJSON {
    /// A value as written, with its children.
    struct Written {
        /// The name of a member as written, with quotes; empty for other values.
        var key: [UInt8] = []
        let kind: JSONSlice.Kind
        let bytes: [UInt8]
        /// The decoded text of a string. Nil for other kinds.
        var text: String?
        var children: [Written] = []
    }

    private var dice: SplitMix

    init(seed: UInt64) { dice = SplitMix(seed: seed) }

    mutating func object(depth: Int) -> Written {
        var children: [Written] = []
        var bytes = [UInt8(ascii: "{")] + space()
        for index in 0..<Int.random(in: 0...4, using: &dice) {
            var child = value(depth: depth - 1)
            child.key = string().bytes
            bytes += (index > 0 ? [UInt8(ascii: ",")] : []) + space() + child.key + space() + [UInt8(ascii: ":")] + space()
            bytes += child.bytes + space()
            children.append(child)
        }
        bytes += [UInt8(ascii: "}")]
        return Written(kind: .object, bytes: bytes, children: children)
    }

    /// `original` with a few bytes changed, inserted, removed or repeated.
    mutating func mutated(_ original: [UInt8]) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...4, using: &dice) {
            guard !bytes.isEmpty else { return bytes }
            let index = Int.random(in: 0..<bytes.count, using: &dice)
            switch Int.random(in: 0..<5, using: &dice) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &dice)
            case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &dice)
            case 2: bytes.insert(Array(#"{}[]",:\u0e-."#.utf8).randomElement(using: &dice) ?? 0, at: index)
            case 3: bytes.removeSubrange(index..<min(bytes.count, index + Int.random(in: 1...9, using: &dice)))
            default: bytes.insert(contentsOf: bytes[index..<min(bytes.count, index + 12)], at: index)
            }
        }
        return bytes
    }

    private mutating func array(depth: Int) -> Written {
        let children = (0..<Int.random(in: 0...4, using: &dice)).map { _ in value(depth: depth - 1) }
        var bytes = [UInt8(ascii: "[")] + space()
        for (index, child) in children.enumerated() {
            bytes += (index > 0 ? [UInt8(ascii: ",")] : []) + space() + child.bytes + space()
        }
        return Written(kind: .array, bytes: bytes + [UInt8(ascii: "]")], children: children)
    }

    private mutating func value(depth: Int) -> Written {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &dice) {
        case 0: Written(kind: .boolean, bytes: Array((Bool.random(using: &dice) ? "true" : "false").utf8))
        case 1: Written(kind: .null, bytes: Array("null".utf8))
        case 2: Written(kind: .number, bytes: Array(number().utf8))
        case 3, 4: string()
        case 5: array(depth: depth)
        default: object(depth: depth)
        }
    }

    private mutating func number() -> String {
        let whole = Int.random(in: -1_000...1_000_000, using: &dice)
        let fraction = Bool.random(using: &dice) ? ".0\(Int.random(in: 0...999, using: &dice))" : ""
        let exponents = ["", "", "e5", "E-07", "e+1", "E0"]
        return "\(whole)\(fraction)\(exponents.randomElement(using: &dice) ?? "")"
    }

    private mutating func string() -> Written {
        var content = ""
        var text = ""
        for _ in 0..<Int.random(in: 0...24, using: &dice) {
            let pieces: [(written: String, decoded: String)] = [
                ("a", "a"), ("Z9 _", "Z9 _"), ("{[,:]}", "{[,:]}"), ("é", "é"), ("日本", "日本"), ("😀", "😀"), ("\u{7F}", "\u{7F}"),
                (#"\""#, "\""), (#"\\"#, "\\"), (#"\/"#, "/"), (#"\b\f\n\r\t"#, "\u{8}\u{C}\n\r\t"), (#"\u0000"#, "\0"),
                (#"\u00Fc"#, "ü"), (#"\uD83D\uDE00"#, "😀"), ("eventdata", "eventdata"),
            ]
            let piece = pieces[Int.random(in: 0..<pieces.count, using: &dice)]
            content += piece.written
            text += piece.decoded
        }
        return Written(kind: .string, bytes: Array("\"\(content)\"".utf8), text: text)
    }

    private mutating func space() -> [UInt8] {
        guard Int.random(in: 0..<4, using: &dice) == 0 else { return [] }
        return (0..<Int.random(in: 1...3, using: &dice)).map { _ in [0x20, 0x09, 0x0A, 0x0D].randomElement(using: &dice) ?? 0x20 }
    }
}
