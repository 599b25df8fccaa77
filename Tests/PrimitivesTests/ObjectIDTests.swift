import Primitives
import Testing

@Suite struct ObjectIDTests {
    @Test(arguments: [
        "", "0123456789abcdef0123456", "0123456789abcdef012345678", "0123456789ABCDEF01234567", "0123456789abcdef0123456g",
        "0123456789abcdef0123456\u{FF11}", "+123456789abcdef01234567",
    ])
    func refuses(text: String) { #expect(ObjectID(text) == nil) }

    @Test func randomIDsDifferAndAreValid() {
        var random: any RandomNumberGenerator = SystemRandomNumberGenerator()
        let ids = (0..<1_000).map { _ in ObjectID.random(using: &random) }
        #expect(Set(ids).count == 1_000 && ids.allSatisfy { ObjectID($0.text) == $0 })
        #expect(Set(ids.flatMap { Array($0.text) }).count == 16)
    }
}
