import JSON

/// The bodies of responses about drivers' accounts. Existing apps parse those below `/api/auth`.
extension FleetResponses {
    static func body(of response: AccountResponse, correlationID: String) -> [UInt8] {
        switch response {
        case .sync(nil):
            message("User not found") {
                $0.member("user", nil as String?)
                $0.member("isNewUser", true)
                $0.member("isProfileComplete", false)
            }
        case .sync(let account?): message(account.syncMessage) { account.writeSync(to: &$0) }
        case .registered(let account):
            message("Driver registration submitted for approval") {
                $0.member("user") { account.writeRegistered(to: &$0) }
                $0.member("approvalStatus", account.status.approval)
                $0.member("message", "Your registration is pending admin approval. You will be notified once approved.")
            }
        case .profile(let account, let tokens):
            message("Profile updated") { $0.member("user") { account.writeProfile(tokens, to: &$0) } }
        case .decided(let message, let account, let notificationIDs):
            success(message, correlationID) {
                $0.member("driver") { account.writeWhole(to: &$0) }
                $0.member("notificationIds", notificationIDs)
            }
        }
    }

    static func body(of result: AccountResult) -> [UInt8] {
        switch result {
        case .own(let account, let tokens):
            message("User profile") { $0.member("user") { account.writeProfile(tokens, to: &$0) } }
        case .one(let account): success { $0.member("driver") { account.writeWhole(to: &$0) } }
        case .list(let accounts):
            success { $0.member("drivers", accounts) { json, account in json.object { account.writeWhole(to: &$0) } } }
        }
    }
}

extension Account {
    fileprivate var syncMessage: String {
        switch status {
        case .pending: "Driver pending approval"
        case .rejected: "Driver registration rejected"
        case .active, .suspended: "User authenticated"
        }
    }

    fileprivate func writeSync(to json: inout JSONWriter) {
        json.member("user") {
            writeName(to: &$0)
            $0.member("status", status.rawValue)
            $0.member("licenseNumber", registration.licenseNumber)
            $0.member("vehicleNumber", registration.vehicleNumber)
            guard status == .active else { return }
            $0.member("profileImage", registration.profileImage)
            $0.member("vehicleType", registration.vehicleType.rawValue)
            $0.member("lastLoginAt", time: lastLoginAt)
        }
        json.member("isNewUser", false)
        json.member("isProfileComplete", true)
        json.member("approvalStatus", status.approval)
        if status == .rejected { json.member("rejectionReason", reason) }
    }

    fileprivate func writeRegistered(to json: inout JSONWriter) {
        writeName(to: &json)
        json.member("status", status.rawValue)
        json.member("licenseNumber", registration.licenseNumber)
        json.member("vehicleNumber", registration.vehicleNumber)
        json.member("vehicleType", registration.vehicleType.rawValue)
        json.member("createdAt", time: createdAt)
    }

    /// What the driver sees of the own account.
    fileprivate func writeProfile(_ maskedTokens: [String], to json: inout JSONWriter) {
        writeName(to: &json)
        writeDetails(to: &json)
        json.member("lastLoginAt", time: lastLoginAt)
        json.member("fcmTokens", maskedTokens)
        json.member("createdAt", time: createdAt)
        json.member("updatedAt", time: updatedAt)
    }

    /// What dispatchers see of an account.
    fileprivate func writeWhole(to json: inout JSONWriter) {
        writeName(to: &json)
        json.member("driverId", personID)
        writeDetails(to: &json)
        json.member("approvalStatus", status.approval)
        json.member("reason", reason)
        json.member("lastLoginAt", time: lastLoginAt)
        json.member("createdAt", time: createdAt)
        json.member("updatedAt", time: updatedAt)
        json.member("version", version)
    }

    private func writeName(to json: inout JSONWriter) {
        json.member("_id", id.text)
        json.member("phone", phone)
        json.member("role", "DRIVER")
        json.member("name", registration.name)
        json.member("email", registration.email)
    }

    private func writeDetails(to json: inout JSONWriter) {
        json.member("profileImage", registration.profileImage)
        json.member("status", status.rawValue)
        json.member("licenseNumber", registration.licenseNumber)
        json.member("licenseImageUrl", registration.licenseImageURL)
        json.member("licenseExpiryDate", registration.licenseExpiryDate)
        json.member("vehicleName", registration.vehicleName)
        json.member("vehicleNumber", registration.vehicleNumber)
        json.member("vehicleType", registration.vehicleType.rawValue)
        json.key("vehicleDocuments")
        json.documents(registration.vehicleDocuments)
    }
}
