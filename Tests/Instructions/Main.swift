/// Counts with callgrind (dev/instructions runs it there) how many instructions each parser spends on an ordinary input,
/// and on the inputs of the same length that cost most.
@main
enum Instructions {
    /// The inputs' length in bytes. Longer inputs change the ratios little, because every cost is linear; and a request's
    /// head, a token and a query cannot be longer.
    static let length = 7_000

    static func main() {
        let parts = CommandLine.arguments.dropFirst()
        for parser in Parser.all where parts.isEmpty || parts.contains(where: parser.name.contains) {
            for (name, input) in [("plain", parser.plain)] + parser.worst {
                let bytes = input(length)
                guard abs(bytes.count - length) < length / 20 else { fatalError("\(parser.name), \(name): \(bytes.count) bytes") }
                // The first run also pays for what is made once.
                for isMeasured in [false, true] {
                    current = Run(parse: parser.parse, bytes: bytes)
                    if isMeasured { fleetwireMeasured() } else { current.parse(current.bytes) }
                }
                print("\(parser.name)\t\(name)\t\(bytes.count)")
            }
        }
    }
}

struct Run {
    var parse: ([UInt8]) -> Void = { _ in }
    var bytes: [UInt8] = []
}

nonisolated(unsafe) private var current = Run()

/// How often an input was measured.
nonisolated(unsafe) private var count = 0

/// What callgrind counts: it finds the function by its name, and writes its figures when it returns.
@inline(never)
private func fleetwireMeasured() {
    current.parse(current.bytes)
    count += 1  // without it the call of the parser would be a jump out of this function
}
