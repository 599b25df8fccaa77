import Fleet
import HTTP
import PusherAPI

extension CommandReply {
    /// The HTTP response. Errors have the endpoint's format.
    func response(in format: any ErrorFormat) -> HTTPResponse {
        switch self {
        case .committed(let result): .json(200, result.body)
        case .deferred: preconditionFailure("the publisher has the reply of another command sent")
        case .replayed(let status, let body):
            HTTPResponse.json(status, body).adding(["Idempotency-Replayed": "true"])
        case .rejected(let error): format.response(for: APIError(error))
        case .unavailable(let text): format.unavailable(text)
        case .failed(let text): format.error(500, text)
        }
    }
}

extension QueryReply {
    /// The HTTP response. Errors have the endpoint's format.
    func response(in format: any ErrorFormat) -> HTTPResponse {
        switch self {
        case .found(let body): .json(200, body)
        case .rejected(let error): format.response(for: APIError(error))
        case .unavailable(let text): format.unavailable(text)
        case .mustWrite: preconditionFailure("the node posts the command")
        }
    }
}

extension ErrorFormat {
    /// 503 with a hint to retry after a second.
    fileprivate func unavailable(_ text: String) -> HTTPResponse { error(503, text, headers: ["Retry-After": "1"]) }
}
