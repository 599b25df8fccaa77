import Fleet
import HTTP
import HTTPAPI

extension CommandReply {
    /// The HTTP response. Errors have the format of the endpoint's envelope.
    func response(in envelope: Envelope) -> HTTPResponse {
        switch self {
        case .committed(let result): .json(200, result.body)
        case .deferred: preconditionFailure("the publisher has the reply of another command sent")
        case .replayed(let status, let body):
            HTTPResponse.json(status, body).adding(["Idempotency-Replayed": "true"])
        case .rejected(let error): envelope.error(APIError(error))
        case .unavailable(let text): envelope.unavailable(text)
        case .failed(let text): envelope.error(500, text)
        }
    }
}

extension QueryReply {
    /// The HTTP response. Errors have the format of the endpoint's envelope.
    func response(in envelope: Envelope) -> HTTPResponse {
        switch self {
        case .found(let body): .json(200, body)
        case .rejected(let error): envelope.error(APIError(error))
        case .unavailable(let text): envelope.unavailable(text)
        case .mustWrite: preconditionFailure("the node posts the command")
        }
    }
}

extension Envelope {
    /// 503 with a hint to retry after a second.
    fileprivate func unavailable(_ text: String) -> HTTPResponse { error(503, text, headers: ["Retry-After": "1"]) }
}
