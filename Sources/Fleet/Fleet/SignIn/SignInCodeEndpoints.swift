import Access
import Primitives
import PusherAPI

/// The endpoints of sign-in by code, which exist while `otp.enabled` is true.
enum SignInCodeEndpoints {
    private static let prefix = "/api/mobile/v1"

    /// The group while sign-in by code is off: all of its paths are 404, with or without a token.
    static let off = EndpointGroup(off: prefix)

    static let group = EndpointGroup(
        prefix,
        [
            .command(.post, prefix + "/auth/login-or-register", acceptsKey: false) {
                .code(.login(try $0.phoneNumber()))
            }.open(.codes),
            .command(.post, prefix + "/auth/resend-otp", acceptsKey: false) {
                .code(.resend(sessionID: try $0.body.sessionID()))
            }.open(.codes),
            .command(.post, prefix + "/auth/verify-otp", acceptsKey: false) {
                .code(.verify(sessionID: try $0.body.sessionID(), code: try $0.body.typedCode()))
            }.open(.tries),
            .command(.post, prefix + "/auth/refresh", acceptsKey: false) {
                .code(.refresh(try $0.sessionToRefresh()))
            }.acceptingExpired(seconds: CustomerTokenClaims.refreshTime),
            .command(.delete, prefix + "/auth/session", roles: [.customer], acceptsKey: false) {
                .code(.endSession(try $0.session()))
            },
            .command(.post, prefix + "/user/registration/basic-details", roles: [.customer], acceptsKey: false) {
                try $0.session()
                return .code(.saveDetails(try $0.body.basicDetails()))
            }.refusingCardNumbers(),
            .command(.post, prefix + "/user/registration/credit-card", roles: [.customer], acceptsKey: false) {
                try $0.session()
                return .code(.savePayment(try $0.body.paymentMethod()))
            }.refusingCardNumbers(),
        ])
}

extension EndpointRequest {
    fileprivate func phoneNumber() throws(APIError) -> PhoneNumber {
        var form = LoginForm()
        form.callingCode = body.sentText("phone_isd")
        form.country = body.sentText("phone_country")
        form.phone = body.sentText("phone")
        form.userType = body.sentText("user_type")
        do throws(RuleError) {
            return try form.number(countries: router.codeCountries ?? [])
        } catch {
            throw APIError(error)
        }
    }

    /// The sign-in of the token.
    /// - Throws: ``APIError`` with 403 if another issuer has made the token.
    @discardableResult
    fileprivate func session() throws(APIError) -> TokenSession {
        guard let session = identity.session, session.isCurrent else {
            throw APIError(403, "Requires a token of a customer who has signed in by code")
        }
        return session
    }

    /// The sign-in of a token that may have expired.
    /// - Throws: ``APIError`` with 401 if the token is another one.
    fileprivate func sessionToRefresh() throws(APIError) -> TokenSession {
        guard let session = identity.session, session.isCurrent else { throw .unauthorized("The token cannot be refreshed") }
        return session
    }
}

extension JSONBody {
    /// `temp_user_id`.
    fileprivate func sessionID() throws(APIError) -> String {
        guard let id = sentText("temp_user_id").value else { throw missing("temp_user_id", "a string") }
        // No session has a longer one.
        guard (1...64).contains(id.utf8.count) else { throw APIError(RuleError.sessionOver) }
        return id
    }

    fileprivate func typedCode() throws(APIError) -> String {
        do throws(RuleError) {
            return try TypedCode.read(sentText("otp"))
        } catch {
            throw APIError(error)
        }
    }

    fileprivate func basicDetails() throws(APIError) -> BasicDetails {
        do throws(RuleError) {
            return try BasicDetails(name: sentText("name"), email: sentText("email"))
        } catch {
            throw APIError(error)
        }
    }

    fileprivate func paymentMethod() throws(APIError) -> PaymentMethod {
        do throws(RuleError) {
            return try PaymentMethod(
                token: sentText("payment_token"), brand: sentText("brand"), last4: sentText("last4"),
                expiryMonth: sentInteger("expiry_month"), expiryYear: sentInteger("expiry_year"))
        } catch {
            throw APIError(error)
        }
    }

    private func sentInteger(_ name: String) -> SentField<Int> {
        guard has(name) else { return .absent }
        guard let value = self[name] else { return .null }
        guard value.kind == .number, let integer = value.integer else { return .unreadable }
        return .value(Int(integer))
    }
}
