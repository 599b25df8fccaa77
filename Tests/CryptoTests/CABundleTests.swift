import Crypto
import TestSupport
import Testing

@Suite struct CABundleTests {
    @Test(arguments: [
        TestKeys.rsaCertificate, TestKeys.p256Certificate,
        "Internal CA:\n" + TestKeys.p256Certificate + "\n" + TestKeys.rsaCertificate,
        PrivateTestKeys.p256 + "\n" + TestKeys.rsaCertificate,
    ])
    func acceptsFilesWithCertificates(pem: String) {
        #expect(CABundle.isReadable(pem))
    }

    @Test(arguments: [
        "", "not PEM", PrivateTestKeys.p256, PrivateTestKeys.p256Encrypted, TestKeys.p256,
        "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", String(TestKeys.rsaCertificate.dropLast(60)),
        TestKeys.rsaCertificate + "\n-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n",
        TestKeys.rsaCertificate.replacing(
            "-----BEGIN CERTIFICATE-----",
            with: "-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n"),
    ])
    func rejectsFilesThatTLSCannotUse(pem: String) {
        #expect(!CABundle.isReadable(pem))
    }
}
