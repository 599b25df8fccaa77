/// Requests whose bodies are on their way. Places are reused.
struct IncomingRequests {
    struct Request {
        let head: RequestHead
        var body: [UInt8] = []
    }

    private var requests: [Request?] = []
    private var vacant: [Int] = []

    mutating func add(_ head: RequestHead) -> Int {
        let index = vacant.popLast() ?? requests.count
        if index == requests.count { requests.append(nil) }
        requests[index] = Request(head: head)
        requests[index]?.body.reserveCapacity(min(head.contentLength, 65_536))  // anybody can announce anything
        return index
    }

    /// Appends a chunk; false when it holds more than was announced.
    mutating func append(_ bytes: UnsafeRawBufferPointer, to index: Int) -> Bool {
        guard let announced = requests[index]?.head.contentLength, let soFar = requests[index]?.body.count,
            soFar + bytes.count <= announced
        else { return false }
        requests[index]?.body.append(contentsOf: bytes)
        return true
    }

    /// How many there are.
    var count: Int { requests.count - vacant.count }

    /// The head of a request of whose body nothing has come yet.
    func headOfUnbegun(_ index: Int) -> RequestHead? { requests[index]?.body.isEmpty == true ? requests[index]?.head : nil }

    mutating func remove(_ index: Int) -> Request? {
        defer {
            requests[index] = nil
            vacant.append(index)
        }
        return requests[index]
    }
}
