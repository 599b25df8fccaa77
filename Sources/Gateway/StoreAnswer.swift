import HTTP
import HTTPAPI

/// What the store has to say to a request, before it is dressed as the request's group of paths has it.
struct StoreAnswer: Sendable {
    private let status: Int
    /// JSON, or the refusal's text.
    private let content: Content
    private var headers: HTTPHeaders = [:]

    private enum Content {
        case json([UInt8])
        case text(String)
    }

    /// A success: a JSON body, made now or kept from the first time.
    init(json: [UInt8], isReplay: Bool = false) {
        status = 200
        content = .json(json)
        if isReplay { headers["Idempotency-Replayed"] = "true" }
    }

    /// A refusal or failure, in words. 503 asks to be tried again.
    init(_ status: Int, _ text: String) {
        self.status = status
        content = .text(text)
        if status == 503 { headers["Retry-After"] = "1" }
    }

    func response(in envelope: Envelope) -> HTTPResponse {
        switch content {
        case .json(let json): HTTPResponse.json(status, json).adding(headers)
        case .text(let text): envelope.error(status, text, headers: headers)
        }
    }
}
