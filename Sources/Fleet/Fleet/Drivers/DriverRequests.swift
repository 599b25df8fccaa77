import Primitives
import PusherAPI

/// Parses the bodies of requests about drivers.
extension JSONBody {
    /// A path below `/api/admin/drivers`, so no driver can have this id.
    private static let reservedDriverID = "positions"

    /// Checks the id of a driver in a path.
    /// - Returns: `text`.
    static func checkedDriverID(_ text: String) throws(APIError) -> String {
        let id = try checkedName(text, field: "driverId")
        guard !id.utf8.elementsEqual(reservedDriverID.utf8) else {
            throw .invalid("driverId", "be the id of a driver; \(reservedDriverID) is reserved")
        }
        return id
    }

    func driverCardChanges() throws(APIError) -> DriverCardChanges {
        var changes = DriverCardChanges()
        changes.name = try text("name", lengthMax: DriverCard.textMax, isName: true)
        changes.phoneNumber = try text("phoneNumber", lengthMax: DriverCard.textMax)
        changes.vehicleMake = try text("vehicleMake", lengthMax: DriverCard.textMax)
        changes.vehicleModel = try text("vehicleModel", lengthMax: DriverCard.textMax)
        changes.vehicleColor = try text("vehicleColor", lengthMax: DriverCard.textMax)
        changes.licensePlate = try text("licensePlate", lengthMax: DriverCard.textMax)
        return changes
    }

    /// A string member of at most `lengthMax` characters; of a name, without the white space around it.
    private func text(_ name: String, lengthMax: Int, isName: Bool = false) throws(APIError) -> Change<String> {
        var change = try text(name)
        if isName, case .set(let text) = change { change = .set(text.withoutSurroundingSpace) }
        change = try displayable(change, name)
        guard case .set(let text) = change, text.unicodeScalars.count > lengthMax else { return change }
        throw invalid(name, "have at most \(lengthMax) characters")
    }
}
