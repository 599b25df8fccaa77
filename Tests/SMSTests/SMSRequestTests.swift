import Testing

@testable import SMS

@Suite struct SMSRequestTests {
    @Test func theBodyNamesPhoneTextAndID() {
        let request = SMSRequest(to: "+11234567890", code: "012345", template: #"Code {code}, "{code}""#, id: "s1")
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == #"{"to":"+11234567890","text":"Code 012345, \"012345\"","id":"s1"}"#)
    }

    @Test(arguments: [200, 204, 299]) func any2xxMeansSent(status: Int) {
        var attempts = SMSAttempts()
        #expect(attempts.ended(.response(status: status), now: 7) == .finished(.sent))
    }

    @Test(arguments: [199, 301, 302, 400, 500]) func anythingElseIsTriedTwiceAgain(status: Int) {
        var attempts = SMSAttempts()
        let end = SMSAttempts.End.response(status: status)
        #expect(attempts.ended(end, now: 1_000) == .again(at: 1_100))
        #expect(attempts.ended(end, now: 2_000) == .again(at: 2_300))
        #expect(attempts.ended(end, now: 3_000) == .finished(.refused))
    }

    @Test func anSMSMayBeSentIfAnAttemptHadNoResponse() {
        var attempts = SMSAttempts()
        _ = attempts.ended(.noResponse, now: 0)
        _ = attempts.ended(.notSent, now: 0)
        #expect(attempts.ended(.response(status: 503), now: 0) == .finished(.unknown))
    }

    @Test func anSMSThatWasNeverWrittenIsRefused() {
        var attempts = SMSAttempts()
        for _ in 0..<2 { _ = attempts.ended(.notSent, now: 0) }
        #expect(attempts.ended(.notSent, now: 0) == .finished(.refused))
    }

    @Test func aLaterAttemptMaySucceed() {
        var attempts = SMSAttempts()
        _ = attempts.ended(.noResponse, now: 0)
        _ = attempts.ended(.response(status: 503), now: 0)
        #expect(attempts.ended(.response(status: 200), now: 0) == .finished(.sent))
    }
}
