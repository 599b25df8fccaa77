import Primitives

// Why customers' calls about their sign-in and registration are refused. Apps show the texts.

extension RuleError.Code {
    /// The caller has to wait.
    package static let tooManyRequests = Self("tooManyRequests", .limited, "Too many requests")
    /// A limit of the gateway's, which is not the caller's affair.
    package static let codesLimited = Self("codesLimited", .unavailable, "Could not send the code. Please try again")
    /// The SMS has failed.
    package static let codeNotSent = Self("codeNotSent", .unavailable, "Could not send the code. Please try again")
    /// The phone's last code is too fresh.
    package static let codeCooldown = Self("codeCooldown", .limited, "Please wait before requesting another code")
    package static let sessionOver = Self("sessionOver", .invalid, "Invalid or expired session. Please log in again")
    package static let wrongDigits = Self("wrongDigits", .invalid, "Invalid OTP")
    /// The code is refused because of the wrong ones before it, not because of its age.
    package static let noTriesLeft = Self("noTriesLeft", .invalid, "Too many wrong attempts. Please request a new code")
    package static let codeExpired = Self("codeExpired", .invalid, "OTP expired")
    package static let notSixDigits = Self("notSixDigits", .invalid, "OTP must be 6 digits")
    /// The customer's tokens have ended.
    package static let signInEnded = Self("signInEnded", .unauthenticated, "The session has ended")
    /// Another issuer has made the token.
    package static let notSignedIn = Self(
        "notSignedIn", .forbidden, "Requires a token of a customer who has signed in by code")

    // MARK: The phone

    package static let wrongCallingPrefix = Self("wrongCallingPrefix", .invalid, "Expected phone_isd to be + and 1 to 3 digits")
    package static let wrongCountry = Self("wrongCountry", .invalid, "Expected phone_country to be two letters")
    package static let wrongPhone = Self("wrongPhone", .invalid, "Invalid phone number format")
    package static let wrongUserType = Self("wrongUserType", .invalid, "Unsupported user type")
    /// The operator serves other countries.
    package static let countryNotServed = Self(
        "countryNotServed", .invalid, "Phone numbers of this country are not supported")

    // MARK: The registration

    /// The basic details are missing.
    package static let stepMissing = Self("stepMissing", .conflict, "Complete the previous step first")
    /// Another account has the e-mail address.
    package static let emailTaken = Self("emailTaken", .conflict, "Email already in use")
    package static let wrongName = Self("wrongName", .invalid, "Expected name to be a text of 2 to 100 characters")
    package static let controlCharacters = Self(
        "controlCharacters", .invalid, "Expected name to contain no control or format characters")
    package static let wrongEmail = Self("wrongEmail", .invalid, "Expected email to be an e-mail address")
    package static let wrongPaymentToken = Self(
        "wrongPaymentToken", .invalid, "Expected payment_token to be a text of 1 to 255 characters")
    package static let wrongBrand = Self("wrongBrand", .invalid, "Expected brand to be a text of at most 50 bytes")
    package static let wrongLast4 = Self("wrongLast4", .invalid, "Expected last4 to be 4 digits")
    package static let wrongExpiryMonth = Self("wrongExpiryMonth", .invalid, "Expected expiry_month to be from 1 to 12")
    package static let wrongExpiryYear = Self("wrongExpiryYear", .invalid, "Expected expiry_year to be from 2000 to 2999")
}
