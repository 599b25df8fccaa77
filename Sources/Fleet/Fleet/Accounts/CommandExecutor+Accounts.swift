import Access

/// What the gateway reads of accounts at the start, and an erasure.
extension CommandExecutor {
    /// Calls `each` for every account. Used at the start.
    package func eachAccount(_ each: (Account) -> Void) throws(DatabaseError) { try accounts.each(each) }
}

extension Account {
    /// What an erasure searches for: the texts that identify the driver.
    var identifyingTexts: [String] {
        let urls = [registration.profileImage, registration.licenseImageURL] + registration.vehicleDocuments.map(\.imageURL)
        let texts = [registration.name, registration.email, phone, registration.licenseNumber, registration.vehicleNumber]
        return (texts + urls).compactMap { $0 }
    }
}

extension DeviceTable {
    /// The tokens of a driver's devices that get pushes from FCM, shortened.
    func maskedFCMTokens(ofDriver id: String) throws(DatabaseError) -> [String] {
        try devices(of: Identity(role: .driver, id: id).key).filter { $0.provider == .fcm }.map(\.maskedToken)
    }
}
