import HTTP
import JSON
import Primitives
import PusherAPI

/// Parses the bodies of drivers' requests about batches of orders.
extension JSONBody {
    func deliveryReport() throws(APIError) -> DeliveryReport {
        var fields = DeliveryReportFields()
        fields.status = sentText("status")
        fields.notes = sentText("notes")
        fields.failureReason = sentText("failureReason")
        fields.proofOfDelivery = try sentProof("proofOfDelivery")
        do throws(RuleError) { return try DeliveryReport(fields) } catch { throw APIError(error) }
    }

    private func sentProof(_ name: String) throws(APIError) -> SentField<ProofFields> {
        guard has(name) else { return .absent }
        guard let value = self[name] else { return .null }
        guard value.kind == .object else { return .unreadable }
        let body = try JSONBody(value.raw)
        var fields = ProofFields()
        fields.type = body.sentText("type")
        fields.otp = body.sentText("otp")
        fields.signatureURL = body.sentText("signatureUrl")
        fields.photoURL = body.sentText("photoUrl")
        return .value(fields)
    }

    func driverNotes() throws(APIError) -> String? {
        do throws(RuleError) { return try DriverNotes.read(sentText("notes")) } catch { throw APIError(error) }
    }

    /// The tour of a driver: `sequence`, with all fields that are wrong at once.
    func sequenceEntries() throws(APIError) -> [SequenceEntry] {
        guard let value = self["sequence"] else { throw .field("sequence", "Sequence is required") }
        guard value.kind == .array else { throw .field("sequence", "Sequence must be an array") }
        var elements: [JSONSlice] = []
        try APIError.mappingJSONErrors { try JSONReader.array(value.raw) { elements.append($0) } }
        guard elements.count <= BatchEdits.ordersMax else {
            throw .field("sequence", "Sequence must have at most \(BatchEdits.ordersMax) elements")
        }
        var entries: [SequenceEntry] = []
        var errors = FieldErrors()
        for (index, element) in elements.enumerated() {
            let body = element.kind == .object ? try JSONBody(element.raw) : JSONBody()
            let path = "sequence[\(index)]"
            let id = try errors.collect { () throws(APIError) in
                guard let id = body.sentText("orderId").value.flatMap({ ObjectID($0) }) else {
                    throw .field("\(path).orderId", "Order id must be 24 hexadecimal digits")
                }
                return id
            }
            let number = try errors.collect { () throws(APIError) in
                guard let number = body["sequenceNumber"]?.integer else {
                    throw .field("\(path).sequenceNumber", "Sequence number must be an integer")
                }
                return number
            }
            if let id, let number { entries.append(SequenceEntry(orderID: id, sequenceNumber: number)) }
        }
        guard entries.count == elements.count else { throw errors.error }
        return entries
    }

    /// `online` of the switch.
    func isOnline() throws(APIError) -> Bool {
        guard let isOnline = self["online"]?.boolean else { throw .field("online", "Online must be true or false") }
        return isOnline
    }
}

/// How summaries are made: the fleet's currency and time zone.
package struct SummarySettings: Sendable {
    /// Shown with earnings; may be empty.
    let currency: String
    /// The time zone of drivers whose apps send none.
    let timeZone: String
    /// Returns when a range began in a time zone, in milliseconds since 1970; nil for ``SummaryRange/all``.
    let start: @Sendable (SummaryRange, _ timeZone: String) -> Int64?

    package init(
        currency: String = "", timeZone: String = "UTC",
        start: @escaping @Sendable (SummaryRange, _ timeZone: String) -> Int64? = { _, _ in nil }
    ) {
        self.currency = currency
        self.timeZone = timeZone
        self.start = start
    }
}

extension EndpointRequest {
    /// When the time begins that a summary covers, from the query parameters `range` and `timeZone`; nil: all.
    func summaryStart() throws(APIError) -> Int64? {
        var errors = FieldErrors()
        let range = try errors.collect { () throws(APIError) in
            guard let text = http.queryValue("range") else { return SummaryRange.today }
            guard let range = SummaryRange(word: text) else {
                throw .field("range", "Range must be one of today, week, month, all")
            }
            return range
        }
        let zone = try errors.collect { () throws(APIError) in
            // A plus that is not escaped, as in GMT+05:30, arrives as a space. No zone has one.
            guard let text = http.queryValue("timeZone")?.replacing(" ", with: "+") else { return router.summaries.timeZone }
            guard router.isTimeZone(text) else {
                throw .field("timeZone", "Time zone must be a name such as Europe/London, or an offset such as GMT+05:30")
            }
            return text
        }
        guard let range, let zone else { throw errors.error }
        return router.summaries.start(range, zone)
    }

    /// The query of a list of batches.
    func batchListing() throws(APIError) -> BatchListing {
        do throws(RuleError) {
            return try BatchListing(
                zone: http.queryValue("zone"), sort: http.queryValue("sort"), latitude: http.queryValue("latitude"),
                longitude: http.queryValue("longitude"))
        } catch { throw APIError(error) }
    }
}
