/// Keys generated for these tests.
enum PushKeys {
    /// A P-256 key, in the format in which Apple issues APNs keys.
    static let p256 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgbjScaYm9XxRoqzyG
        la6ijAdeEnxrEsOuQ+X0I6Mzt/GhRANCAASXApJAxcOSNLzoi5NLCmCCQjav/zAN
        sFXMZv830Xpm39wFG9kkQU+2XaQqAMUA4tSoRi3ioqWYE05/+nZrwCgb
        -----END PRIVATE KEY-----
        """

    static let p256Public = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAElwKSQMXDkjS86IuTSwpggkI2r/8w
        DbBVzGb/N9F6Zt/cBRvZJEFPtl2kKgDFAOLUqEYt4qKlmBNOf/p2a8AoGw==
        -----END PUBLIC KEY-----
        """

    /// An RSA key of 2,048 bits, in the format of the key in Google's service account files.
    static let rsa = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDW7cVsUUAqzhra
        ZW2QepdrLksS/nA/pfxbUjAlIHmmVI1nrs3s73kv+EI6SAS47+GhmeKPfAOTBG9l
        Y4cVZn953kVfycuQl+D3r+hfQFUiKDFD/glSalYxoxNVoUMmscOpN6umKEzoJbXY
        QJ1KBmtwiN02yHOuchB/uvtrffUg5ce1+iExfEziDlpreVHRXDQvK3Jr7jpe9hX7
        V/A9n/1meN5lwTHlv/MjHlHtFR9BDl46u8RBxgRvQvcuQIsOR/HjUPT89W2s+cow
        WCWQ7lPRysprovUMFqJUjQIu88y2A8Ovv72BH5/Gwr4ncpu9myMpCZN8C1OTyPpG
        XB9zD/6NAgMBAAECggEAECz0Rx2qVaO4s6fJ4i4dHUJDq4SeEBGUTOSCSRkI7sgS
        8whd6S9wuyJ/ttaFZyHD+nSUGjZm0na//NfLv9mR+IBjpOeRZtV3Z0zEO/73KUtF
        weyUPlv7FrXuQOs9HDlpagqNju4eM6PllrFDj+GseQYOmA6Ss5X+wI44WTOxR4Nq
        9cNC2aZseDSjt255EKOZDQX3MGtBWdhbMwppohFFFY4ZnpJv97XZn7unpIU9+8z5
        E6pgjmqECiiurvZ2b7qnUTc8ywgiy8DoUKv1ir383e3HWlK9QT3iyE28U9E6a6zb
        1hvsJFsz1feTFsSjtbSINf3L74f35k0pIfAVX7/84QKBgQD2WTkO3M9XeutHA5x6
        9Dyw2j066CyHvhSt5dBgrlJyofP68MioXIdyynZy9MSR1qMgW5Di1WQkWU6t6zdx
        KNh1/Cm2eWLG6rCV8/b/TRPaZtJot4uRfjxtY1j/IrZGxTkdcoErrf95jU9dAuop
        l2pLFsi6iiJqEs6p2oDbIAQS5QKBgQDfWWvDneDfQoFrzyN8wV9wMw4BNG062Ync
        uQrSVVDN1awDjLRg8M9hsZFBslJTVa1w4EBOA5H/9BOOkettRrIorPEgdz22oScr
        eAklgIRjcz252IWmyTivbAvtg6ORfDi5opZ2RHH9TJlD69FYDxlWKsA4QWCcgFE1
        +wbZRpI6iQKBgQC43SOwP4tovlkopVEcA4Q3ws4IEoq4IrAp/zdsFeTRGS+ZtG8f
        yK/sOHrCsWOBfWxUr+H+FtxbWplscgLc7CXkBCLZSCYT17JEFRvZYeHwFxD2fCZE
        PFLkU5VJgKcAXKgLrQ251YzNjnlr9u/53iJpzuM6+MXyi8KCO/JOfawQ8QKBgDHt
        UVOnJS+DNF8fLLWknGr+XrESQSCYpGK80ph2DdwVWaBpgaDx88nI4cmnzRNn4Z+L
        4ZQO5EItE3oZUGFbHlRNZJF3VkpO9+yVpqXFdtKsXi3/ItFHxe4g3wG3HYdWF3AX
        0j6ZyklvKAuw2Vkv9t/2KoXox2n0nTLN7JgBWIrRAoGADRJ8qNZseMveKhNU++CF
        a8y27vNWn7Wp896lGLjKfK7jSABCfT0BgJqbs44VgfZNuNwEITDe7fVvOpSRgQcu
        s296NjlEf9Xz12qNhVmbeYjdhgUW9RrijCXJ43gq8Rf9hXryI3pnRMij5hxrK2Jx
        YX9udXrFy/aB1GQ+2pkqxG0=
        -----END PRIVATE KEY-----
        """

    static let rsaPublic = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA1u3FbFFAKs4a2mVtkHqX
        ay5LEv5wP6X8W1IwJSB5plSNZ67N7O95L/hCOkgEuO/hoZnij3wDkwRvZWOHFWZ/
        ed5FX8nLkJfg96/oX0BVIigxQ/4JUmpWMaMTVaFDJrHDqTerpihM6CW12ECdSgZr
        cIjdNshzrnIQf7r7a331IOXHtfohMXxM4g5aa3lR0Vw0Lytya+46XvYV+1fwPZ/9
        ZnjeZcEx5b/zIx5R7RUfQQ5eOrvEQcYEb0L3LkCLDkfx41D0/PVtrPnKMFglkO5T
        0crKa6L1DBaiVI0CLvPMtgPDr7+9gR+fxsK+J3KbvZsjKQmTfAtTk8j6Rlwfcw/+
        jQIDAQAB
        -----END PUBLIC KEY-----
        """
}
