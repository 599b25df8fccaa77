import JSON

extension JSONWriter {
    /// Writes a vehicle's documents as an array, with the names that apps use. The store keeps the same JSON.
    package mutating func documents(_ documents: [VehicleDocument]) {
        array(documents) { json, document in
            json.object {
                $0.member("type", document.kind.rawValue)
                $0.member("imageUrl", document.imageURL)
                $0.member("expiryDate", document.expiryDate)
            }
        }
    }
}
