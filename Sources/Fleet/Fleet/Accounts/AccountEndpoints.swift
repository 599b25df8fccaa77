import JSON
import Primitives
import PusherAPI

/// The endpoints of drivers' accounts, which exist while `accounts.enabled` is true.
enum AccountEndpoints {
    /// Of the drivers themselves, below `/api/auth`.
    static let ofDrivers: [Endpoint] = [
        .command(.post, "/api/auth/sync", acceptsKey: false) { .account(.sync(try $0.caller())) }.admitting(.anyOrNone),
        .command(.post, "/api/auth/register-driver") {
            .account(.register(try $0.driver(), try $0.body.registrationForm()))
        }.admitting(.anyOrNone),
        .query("/api/auth/me") { .account(.own(try $0.driver())) }.admitting(.own),
        .command(.put, "/api/auth/profile") {
            .account(.changeProfile(try $0.driver(), try $0.body.profileForm()))
        }.admitting(.own),
    ]

    /// Of dispatchers, below `/api/admin`.
    static let ofAdmins: [Endpoint] = [
        .query("/api/admin/drivers") {
            .account(.list(try $0.accountStatus(), before: try $0.before(), limit: try $0.limit()))
        },
        .query("/api/admin/drivers/{id}/account") { .account(.one(driverID: try JSONBody.checkedDriverID($0.id))) },
        decision("approve") { _ in .approve },
        decision("reject") { .reject(reason: try $0.requiredDecisionReason()) },
        decision("suspend") { .suspend(reason: try $0.decisionReason()) },
        decision("reinstate") { _ in .reinstate },
    ]

    private static func decision(
        _ name: String, _ read: @escaping @Sendable (JSONBody) throws -> AccountAction
    ) -> Endpoint {
        .command(.post, "/api/admin/drivers/{id}/\(name)") {
            .account(.decide(try read($0.body), driverID: try JSONBody.checkedDriverID($0.id)))
        }
    }
}

extension EndpointRequest {
    /// The sender of a request about the own account, who may be a driver: the token gives no other role.
    fileprivate func driver() throws(APIError) -> AccountCaller {
        let caller = try caller()
        guard identity.role == .driver else { throw .wrongRole(identity.role, required: [.driver]) }
        return caller
    }

    /// The sender of a request about the own account.
    fileprivate func caller() throws(APIError) -> AccountCaller {
        guard let accounts = router.accounts else { preconditionFailure("an endpoint of accounts without accounts") }
        return try accounts.caller(identity)
    }

    /// The query parameter `status` of a list of accounts.
    fileprivate func accountStatus() throws(APIError) -> AccountStatus? {
        guard let text = http.queryValue("status") else { return nil }
        guard let status = AccountStatus.allCases.first(where: { $0.rawValue.utf8.elementsEqual(text.utf8) }) else {
            throw .invalid("status", "be one of \(AccountStatus.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return status
    }
}

/// Parses the bodies of requests about accounts.
extension JSONBody {
    fileprivate func requiredDecisionReason() throws(APIError) -> String {
        guard let reason = try decisionReason() else { throw missing("reason", "a string") }
        return reason
    }

    fileprivate func decisionReason() throws(APIError) -> String? {
        guard let reason = try text("reason").value else { return nil }
        guard (1...AccountAction.reasonLengthMax).contains(reason.unicodeScalars.count) else {
            throw invalid("reason", "have 1 to \(AccountAction.reasonLengthMax) characters")
        }
        return reason
    }

    fileprivate func registrationForm() throws(APIError) -> RegistrationForm {
        var form = RegistrationForm()
        form.name = sentText("name")
        form.email = sentText("email")
        form.profileImage = sentText("profileImage")
        form.licenseNumber = sentText("licenseNumber")
        form.licenseImageURL = sentText("licenseImageUrl")
        form.licenseExpiryDate = sentText("licenseExpiryDate")
        form.vehicleName = sentText("vehicleName")
        form.vehicleNumber = sentText("vehicleNumber")
        form.vehicleType = sentText("vehicleType")
        form.vehicleDocuments = try sentDocuments("vehicleDocuments")
        return form
    }

    private func sentDocuments(_ name: String) throws(APIError) -> SentField<[RegistrationForm.Document]> {
        guard has(name) else { return .absent }
        guard let value = self[name] else { return .null }
        guard value.kind == .array else { return .unreadable }
        var elements: [JSONSlice] = []
        try APIError.mappingJSONErrors { try JSONReader.array(value.raw) { elements.append($0) } }
        // One more than allowed shows that there are too many.
        var documents: [RegistrationForm.Document] = []
        for element in elements.prefix(RegistrationForm.documentsMax + 1) { documents.append(try document(element)) }
        return .value(documents)
    }

    private func document(_ element: JSONSlice) throws(APIError) -> RegistrationForm.Document {
        var document = RegistrationForm.Document()
        guard element.kind == .object else {
            (document.kind, document.imageURL) = (.unreadable, .unreadable)
            return document
        }
        let body = try JSONBody(element.raw)
        document.kind = body.sentText("type")
        document.imageURL = body.sentText("imageUrl")
        document.expiryDate = body.sentText("expiryDate")
        return document
    }

    fileprivate func profileForm() throws(APIError) -> ProfileForm {
        var form = ProfileForm()
        form.name = sentText("name")
        form.email = sentText("email")
        form.profileImage = sentText("profileImage")
        form.fixedFields = ProfileForm.fixedNames.filter { has($0) }
        return form
    }
}
