/// Requests whose bodies are being received, by slot. Slots are reused.
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
        // At most 64 KiB in advance: the client may send less than it has announced.
        requests[index]?.body.reserveCapacity(min(head.contentLength, 65_536))
        return index
    }

    /// Appends a chunk of the body; false if the body would exceed its announced length.
    mutating func append(_ bytes: UnsafeRawBufferPointer, to index: Int) -> Bool {
        guard let contentLength = requests[index]?.head.contentLength, let received = requests[index]?.body.count,
            received + bytes.count <= contentLength
        else { return false }
        requests[index]?.body.append(contentsOf: bytes)
        return true
    }

    /// The number of requests.
    var count: Int { requests.count - vacant.count }

    /// The head of a request whose body has not begun; nil otherwise.
    func headBeforeBody(_ index: Int) -> RequestHead? { requests[index]?.body.isEmpty == true ? requests[index]?.head : nil }

    mutating func remove(_ index: Int) -> Request? {
        defer {
            requests[index] = nil
            vacant.append(index)
        }
        return requests[index]
    }
}
