import Foundation
import HTTP
import HTTP1
import Testing

/// Compares the parser and the chunk decoder with the Python package h11, whose verdicts `dev/h11-verdicts` has
/// written. What this server accepts, h11 must accept and understand in the same way.
@Suite struct H11Tests {
    /// Where this server is stricter on purpose: the starts of its errors.
    ///
    /// h11 accepts LF as a line end, control characters in values, folded lines, any target and version, several
    /// `Content-Length` that agree, `Transfer-Encoding` besides `Content-Length`, repeated fields, any text as a host,
    /// spaces after the size of a chunk, CR in chunk extensions, control characters and folded lines in trailers. It
    /// leaves methods to the application.
    private static let stricter = [
        "Invalid request: control character", "Invalid request target", "HTTP version not",
        "Unknown method", "Invalid header field: expected a name", "Invalid header fields: several lines",
        "Ambiguous length", "Invalid Content-Length", "Invalid Host", "Invalid chunked body", "Invalid trailer section",
    ]

    private enum Verdict: Equatable {
        case incomplete
        case rejected(String)
        /// Method, target and body.
        case accepted(String)
    }

    private struct Sample {
        let verdict: String
        let request: [UInt8]
    }

    private static let samples: [Sample] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/h11.txt")
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").map { line in
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
            return Sample(verdict: String(decoding: unescaped(parts[0]), as: UTF8.self), request: unescaped(parts[1]))
        }
    }()

    private static func unescaped(_ text: Substring) -> [UInt8] {
        var parts = text.components(separatedBy: "\\x")
        let first = parts.removeFirst()
        return Array(first.utf8) + parts.flatMap { [UInt8($0.prefix(2), radix: 16) ?? 0] + Array($0.dropFirst(2).utf8) }
    }

    private func verdict(_ request: [UInt8]) -> Verdict {
        var bytes = request
        return bytes.withUnsafeMutableBytes { bytes in
            var parser = RequestHeadParser()
            switch parser.parse(UnsafeRawBufferPointer(bytes)) {
            case .incomplete: return .incomplete
            case .invalid(let error): return .rejected(error.text)
            case .complete(let head):
                let target = String(decoding: bytes, as: UTF8.self).split(separator: " ")[1]
                let body = UnsafeMutableRawBufferPointer(rebasing: bytes[head.byteCount...])
                return verdict("\(head.method.rawValue) \(target)", head.bodyFraming, body)
            }
        }
    }

    private func verdict(
        _ line: String, _ framing: RequestHead.BodyFraming, _ bytes: UnsafeMutableRawBufferPointer
    ) -> Verdict {
        func accepted(_ count: Int) -> Verdict { .accepted(line + " " + String(decoding: bytes[..<count], as: UTF8.self)) }
        switch framing {
        case .none: return accepted(0)
        case .length(let length): return length <= bytes.count ? accepted(length) : .incomplete
        case .chunked:
            var decoder = ChunkedDecoder(bodyBytesMax: .max)
            switch decoder.decode(bytes) {
            case .incomplete: return .incomplete
            case .complete: return accepted(decoder.bodyCount)
            case .invalid(let error): return .rejected(error.text)
            }
        }
    }

    @Test func acceptsNothingThatH11UnderstandsInAnotherWay() {
        #expect(Self.samples.count > 500)
        for sample in Self.samples {
            let text = String(decoding: sample.request, as: UTF8.self).debugDescription
            // h11 does not skip the empty line that RFC 9112 section 2.2 recommends to skip.
            if sample.request.starts(with: "\r\n".utf8) { continue }
            switch verdict(sample.request) {
            case .accepted(let accepted): #expect(sample.verdict == "accept " + accepted, "\(text)")
            case .incomplete: #expect(sample.verdict == "incomplete", "\(text)")
            case .rejected(let error):
                // Often this server can reject a head before its end, which h11 waits for.
                #expect(
                    !sample.verdict.hasPrefix("accept") || Self.stricter.contains { error.hasPrefix($0) }, "\(error): \(text)")
            }
        }
    }

    @Test func everyDifferenceOccurs() {
        let errors = Self.samples.compactMap { sample -> String? in
            guard sample.verdict.hasPrefix("accept"), case .rejected(let error) = verdict(sample.request) else { return nil }
            return error
        }
        for difference in Self.stricter { #expect(errors.contains { $0.hasPrefix(difference) }, "\(difference)") }
    }
}
