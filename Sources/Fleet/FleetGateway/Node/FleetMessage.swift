import Fleet
import JWT
import Realtime
import Server

/// A message to the fleet's part of a loop, from the store's threads or from those that learn about tokens.
enum FleetMessage: ExtensionMessage {
    /// Respond to the request of a command.
    case commandReply(CommandReply, to: RequestID)
    /// Respond to the request of a query.
    case queryReply(QueryReply, to: RequestID)
    /// Retry a request. If its token's key is still unknown, the issuer does not have it, or the client may repeat the
    /// request after this time, because the keys could not be fetched.
    case keysFetched(for: RequestID, retryAfterSeconds: Int?)
    /// Route a request again with the answer about its opaque token. Nil: the backend did not answer.
    case tokenAnswered(for: RequestID, AnsweredToken?)
    /// The cursor for a subscription; nil if the store could not be written.
    case cursor(request: Int, Int64?)
    /// This node has applied what other nodes have committed before the request: decide it anew.
    case looked(RequestID)
    /// Confirm a round of ``PublicationRounds`` when all earlier messages are performed and their frames are written.
    case confirmPublication
    /// A page of a replay; nil if the store could not be read.
    case page(request: Int, ReplayPage?)
}

extension SharedHub {
    /// Posts a message to the fleet's part of a loop. Any thread may call it.
    func post(_ message: FleetMessage, to loop: Int) { post(.custom(message), to: loop) }
}
