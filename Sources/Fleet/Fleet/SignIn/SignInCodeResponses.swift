import JSON
import Primitives

/// The bodies of responses below `/api/mobile/v1`, which existing apps parse.
extension FleetResponses {
    static func body(of response: SignInCodeResponse) -> [UInt8] {
        switch response.content {
        case .sent(let id, let isResent, let expiresIn, let cooldown):
            body(isResent ? "OTP resent successfully" : "OTP sent successfully", at: response.at) {
                $0.member("message", isResent ? "New OTP sent to your phone number" : "OTP sent to your phone number")
                $0.member("otp_type", "sms")
                $0.member("temp_user_id", id)
                $0.member("expires_in", expiresIn)
                $0.member("cooldown_remaining", cooldown)
            }
        case .verified(let customer, let token):
            body("OTP verified successfully", at: response.at) {
                $0.member("user") { customer.writeMembers(to: &$0) }
                $0.writeToken(token)
                $0.member("action", customer.registration.action)
                $0.member("driver_registration_state", nil as String?)
            }
        case .refreshed(let token): body("Token refreshed", at: response.at) { $0.writeToken(token) }
        case .ended: body("Signed out", at: response.at) { _ in }
        case .details(let registration):
            body("Basic details saved", at: response.at) { registration.writeMember(to: &$0) }
        case .payment(let registration):
            body("Payment method saved", at: response.at) { registration.writeMember(to: &$0) }
        }
    }

    /// `{"success":true,"message":…,"data":{…},"timestamp":…,"code":200}`
    private static func body(_ message: String, at time: Int64, _ data: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter(capacity: 1_024)
        json.object {
            $0.member("success", true)
            $0.member("message", message)
            $0.member("data") { data(&$0) }
            $0.member("timestamp", Timestamp.wholeSeconds(milliseconds: time))
            $0.member("code", 200)
        }
        return json.bytes
    }
}

extension Customer {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("phone", phone)
        json.member("role", 1)  // customer, in the apps' numbers
        json.member("is_profile_completed", registration.isComplete)
        json.member("last_login_at", Timestamp.wholeSeconds(milliseconds: lastLoginAt))
        json.member("created_from", "mobile_app")
        registration.writeMember(to: &json)
    }
}

extension CustomerRegistration {
    fileprivate func writeMember(to json: inout JSONWriter) {
        json.member("customer_registration_state") {
            $0.member("current_step", current?.rawValue)
            $0.member("progress_percentage", percentage)
            $0.member("is_completed", isComplete)
            $0.member("next_step", next?.rawValue)
            $0.member("steps") {
                for step in Step.allCases {
                    $0.key(step.rawValue)
                    $0.boolean(isDone(step))
                }
            }
            $0.member("completed_steps", done.map(\.rawValue))
            $0.member("total_steps", Step.allCases.count)
            $0.member("completed_count", done.count)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func writeToken(_ token: String) {
        member("token", token)
        member("token_type", "Bearer")
        member("expires_in", CustomerTokenClaims.lifetime)
    }
}
