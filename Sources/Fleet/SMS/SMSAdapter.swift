/// The operator's SMS adapter.
package struct SMSAdapter: Sendable {
    /// An https URL, or an http one on loopback.
    package let url: String
    /// Signs the requests; not empty.
    package let secret: String
    /// The text of an SMS; `{code}` stands for the code.
    package let template: String
    /// The time for one attempt.
    package let timeoutMilliseconds: Int

    package init(url: String, secret: String, template: String, timeoutMilliseconds: Int) {
        self.url = url
        self.secret = secret
        self.template = template
        self.timeoutMilliseconds = timeoutMilliseconds
    }
}
