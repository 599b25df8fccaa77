import TestSupport

/// Private keys made for these tests and used nowhere else.
enum PrivateTestKeys {
    /// A P-256 key as PKCS #8, the format of Apple's .p8 files.
    static let p256 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgyi8GTuz233KUOH0t
        dI7o2JxI/DPRi250wLmLw45b/RqhRANCAAQ2wjil3IfXIBfElm3fZe6sGF6OUSjA
        j99FhGHNrayjMC18ZVwwU+TkT1p3NbCflgECTySevjr0gGUnH80NxXD4
        -----END PRIVATE KEY-----
        """

    /// ``p256`` as SEC 1.
    static let p256SEC1 = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIMovBk7s9t9ylDh9LXSO6NicSPwz0YtudMC5i8OOW/0aoAoGCCqGSM49
        AwEHoUQDQgAENsI4pdyH1yAXxJZt32XurBhejlEowI/fRYRhza2sozAtfGVcMFPk
        5E9adzWwn5YBAk8knr469IBlJx/NDcVw+A==
        -----END EC PRIVATE KEY-----
        """

    /// The public key of ``p256``.
    static let p256Public = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAENsI4pdyH1yAXxJZt32XurBhejlEo
        wI/fRYRhza2sozAtfGVcMFPk5E9adzWwn5YBAk8knr469IBlJx/NDcVw+A==
        -----END PUBLIC KEY-----
        """

    /// ``p256``, encrypted with a passphrase.
    static let p256Encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgS8GFizW5XTAICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEJ14MDKnh4rXL3bJBW6ifrkEgZDi
        UQZEFUu4qE2doyAiKrYUnOXeX+fJxZuo6w516L8f841aFL0G2l84hWYygg0V9aMu
        ZqoZbxPpo4eCOANtISwORCKftkolGD7Bu6bKnFsgUch+i1TPIHOE3iG5l1g6W+4q
        JjXh8NnYcjpqRttQXXBF0ZNJcZgB7Est3+vmXW0ReunwX7drNfdNkT6WyEQFn2E=
        -----END ENCRYPTED PRIVATE KEY-----
        """

    /// ``p256Encrypted`` with the label of an unencrypted key.
    static let p256Mislabelled = """
        -----BEGIN PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgS8GFizW5XTAICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEJ14MDKnh4rXL3bJBW6ifrkEgZDi
        UQZEFUu4qE2doyAiKrYUnOXeX+fJxZuo6w516L8f841aFL0G2l84hWYygg0V9aMu
        ZqoZbxPpo4eCOANtISwORCKftkolGD7Bu6bKnFsgUch+i1TPIHOE3iG5l1g6W+4q
        JjXh8NnYcjpqRttQXXBF0ZNJcZgB7Est3+vmXW0ReunwX7drNfdNkT6WyEQFn2E=
        -----END PRIVATE KEY-----
        """

    /// The private part of one P-256 key with the public part of another.
    static let p256Mismatched = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgyi8GTuz233KUOH0t
        dI7o2JxI/DPRi250wLmLw45b/RqhRANCAARjVe5eRyM4pq9S3TF8eV7AXJF16J/9
        ctoUGG/o/pqa/oyvoMkrLsYEyBSFJLWCqDGBh5tzYLaRedRI3A/VbayZ
        -----END PRIVATE KEY-----
        """

    /// An RSA key of 2,048 bits as PKCS #8, the format in Google's service account files.
    static let rsa = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCx2JkmpxL+rZMt
        XSXnLKTFYG7f1h3O5hiPKq56yzgG3/ky43ijSg08IS+izEIgM/ZIcC/iwmxyzcFg
        fzjF9O+EXZgiltBRuHIkFv209taJtgr3gYDetv1jJzPKezyueE2smcL+r0qdR4OT
        Lsak6/9oTEUdyszppDO7VgwuIZdpkB7raXIPIJ/ZOpCEowFfZxklleYUyEx6uuuZ
        H/EMMXvYeJP4Rxx4yjz2/8Q3ssIwBXx/CrgSJnMLrdA5Ocpf/x/exzrTbax59P8U
        JvbK8aRiiCksBHJSeRfnotiusW3JqjTzM6fTkJ1MbCAI/lH6Z6eCaML+CtQxrkhQ
        qffzdObRAgMBAAECggEAHyut6BLnZuDIR26oioSOGpQEytGN5un4Svt5mkcM+lN+
        K1eoGMKNYEkWvstbGabR1y9mjTFzbYm3h3C05ClCY6o91G4nc/NGeiHXdMTApGFW
        ObwmeKKM9bh0wNvprlCimIpYnWfexYM3we+0XEqKuN6JTKfzU032zTJPLzSvA462
        URIcCiVMMKWNfiyMlKUhyYC3VSHK6nmx9asBG+dg1mtWBrkKKU8dc66Q0Eb5R5CB
        2k9wdm+vtuaKKlYbRJkc5Ylx3gJCxaKAv5S8BmAjYSS70bdn27qxoXeuyKU3ozM1
        8VOLPl+bvOPSbOfHxNR3OQVgPDGkVCs/91UsBbRP6wKBgQDsxIcTXuYneOtla/j0
        mAO6Goa4sQVFnjlCqABQqak2VsM318vPqXJD6Ecom0n5kw86UL/wjmynYRxQca20
        5QUR2WhlRCz83VUmzt1ov2OJTn3VcUqYKmV13OetjSKtX6toRDEldtfT/VhzaGpi
        2v190ylDR6ssjPYYf3YgUuPP5wKBgQDAStLgv/SdfEB0rt3lIDsON12nU0+rBYur
        EscbfUbrqTgvm3LpW4ApZxEIIUoSIx+dK/Tj44MZjrnncHGD8+Ac3zf05Wwx9bjJ
        XrHmf/qawSFLcJJvlo1mu4b0nBSfnto2UsZ0i8ua87ACxdCeJsZ8VhkDvT2k829+
        n09WKiMchwKBgQDq/1iuAjffn6XMIXGUmzi/w0pKD/ESmytsHEFLzklT1KOoTnhM
        4Xq3KdlO1WqD2tF3aORJB6OSMdGfimUFsXXptGZodFVOmQPGI/Yf3C4X/x7n9a07
        AIF5jUspt3ZerCD9uQkqjR1EnCTpTw6glYiaFTbUP1MHQdWUlRYSmRLhqwKBgBnF
        7Z3SHKc/ECSTi4o6V7AAG71hnTv+8klrquQ0Vl0fwTggTbaZXQQvnEjKrXLg4kve
        qGQjCl9SkfhDSfO1rEQyZv2cAnRvyuSynIWYga5cVGoYHIh4VVt/pwcCJIGAeR7u
        2UqlshSCtQSqHtwTtmbT42Zs5uZE+pyuHaQe4bXhAoGAI02akp0uBZe7Wsfztuks
        f8ZsWWGqrYrrie9H7RZv8AqmIXHaaM9BwckHo1H0eM9MfWs5L6Vyma6igYTf7PiB
        ILmxwOMk8XUgP5pU9jmFiNe9lxbbLy4kDrgO1l1AWLOnSGHRuh/bZhA+/rmO0R0W
        P4H5OxKpjddXpFuYw92bcsc=
        -----END PRIVATE KEY-----
        """

    /// ``rsa`` as PKCS #1.
    static let rsaPKCS1 = """
        -----BEGIN RSA PRIVATE KEY-----
        MIIEowIBAAKCAQEAsdiZJqcS/q2TLV0l5yykxWBu39YdzuYYjyquess4Bt/5MuN4
        o0oNPCEvosxCIDP2SHAv4sJscs3BYH84xfTvhF2YIpbQUbhyJBb9tPbWibYK94GA
        3rb9Yyczyns8rnhNrJnC/q9KnUeDky7GpOv/aExFHcrM6aQzu1YMLiGXaZAe62ly
        DyCf2TqQhKMBX2cZJZXmFMhMerrrmR/xDDF72HiT+EcceMo89v/EN7LCMAV8fwq4
        EiZzC63QOTnKX/8f3sc6022sefT/FCb2yvGkYogpLARyUnkX56LYrrFtyao08zOn
        05CdTGwgCP5R+mengmjC/grUMa5IUKn383Tm0QIDAQABAoIBAB8rregS52bgyEdu
        qIqEjhqUBMrRjebp+Er7eZpHDPpTfitXqBjCjWBJFr7LWxmm0dcvZo0xc22Jt4dw
        tOQpQmOqPdRuJ3PzRnoh13TEwKRhVjm8JniijPW4dMDb6a5QopiKWJ1n3sWDN8Hv
        tFxKirjeiUyn81NN9s0yTy80rwOOtlESHAolTDCljX4sjJSlIcmAt1Uhyup5sfWr
        ARvnYNZrVga5CilPHXOukNBG+UeQgdpPcHZvr7bmiipWG0SZHOWJcd4CQsWigL+U
        vAZgI2Eku9G3Z9u6saF3rsilN6MzNfFTiz5fm7zj0mznx8TUdzkFYDwxpFQrP/dV
        LAW0T+sCgYEA7MSHE17mJ3jrZWv49JgDuhqGuLEFRZ45QqgAUKmpNlbDN9fLz6ly
        Q+hHKJtJ+ZMPOlC/8I5sp2EcUHGttOUFEdloZUQs/N1VJs7daL9jiU591XFKmCpl
        ddznrY0irV+raEQxJXbX0/1Yc2hqYtr9fdMpQ0erLIz2GH92IFLjz+cCgYEAwErS
        4L/0nXxAdK7d5SA7Djddp1NPqwWLqxLHG31G66k4L5ty6VuAKWcRCCFKEiMfnSv0
        4+ODGY6553Bxg/PgHN839OVsMfW4yV6x5n/6msEhS3CSb5aNZruG9JwUn57aNlLG
        dIvLmvOwAsXQnibGfFYZA709pPNvfp9PViojHIcCgYEA6v9YrgI335+lzCFxlJs4
        v8NKSg/xEpsrbBxBS85JU9SjqE54TOF6tynZTtVqg9rRd2jkSQejkjHRn4plBbF1
        6bRmaHRVTpkDxiP2H9wuF/8e5/WtOwCBeY1LKbd2Xqwg/bkJKo0dRJwk6U8OoJWI
        mhU21D9TB0HVlJUWEpkS4asCgYAZxe2d0hynPxAkk4uKOlewABu9YZ07/vJJa6rk
        NFZdH8E4IE22mV0EL5xIyq1y4OJL3qhkIwpfUpH4Q0nztaxEMmb9nAJ0b8rkspyF
        mIGuXFRqGByIeFVbf6cHAiSBgHke7tlKpbIUgrUEqh7cE7Zm0+NmbObmRPqcrh2k
        HuG14QKBgCNNmpKdLgWXu1rH87bpLH/GbFlhqq2K64nvR+0Wb/AKpiFx2mjPQcHJ
        B6NR9HjPTH1rOS+lcpmuooGE3+z4gSC5scDjJPF1ID+aVPY5hYjXvZcW2y8uJA64
        DtZdQFizp0hh0bof22YQPv65jtEdFj+B+TsSqY3XV6RbmMPdm3LH
        -----END RSA PRIVATE KEY-----
        """

    /// The public key of ``rsa``.
    static let rsaPublic = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAsdiZJqcS/q2TLV0l5yyk
        xWBu39YdzuYYjyquess4Bt/5MuN4o0oNPCEvosxCIDP2SHAv4sJscs3BYH84xfTv
        hF2YIpbQUbhyJBb9tPbWibYK94GA3rb9Yyczyns8rnhNrJnC/q9KnUeDky7GpOv/
        aExFHcrM6aQzu1YMLiGXaZAe62lyDyCf2TqQhKMBX2cZJZXmFMhMerrrmR/xDDF7
        2HiT+EcceMo89v/EN7LCMAV8fwq4EiZzC63QOTnKX/8f3sc6022sefT/FCb2yvGk
        YogpLARyUnkX56LYrrFtyao08zOn05CdTGwgCP5R+mengmjC/grUMa5IUKn383Tm
        0QIDAQAB
        -----END PUBLIC KEY-----
        """

    /// An RSA key of 1,024 bits, which is too short.
    static let rsa1024 = """
        -----BEGIN PRIVATE KEY-----
        MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8wggJbAgEAAoGBAL/SFgODjKqqnfiz
        TwA+X2/pIIb+TfkiBUao82vffxleuLZQr7HS0KNLCh8kKCb5KYHt6B9rpX5W7ee1
        kPLjC+gK0N/oKSIAY65scFeKZkZwJ8laGATXGyvsLF5EfEV/RxOeRUXmx8hsuzuh
        EbNkTXPja7HxUv7JAA7kXBlP6OuXAgMBAAECgYAxVr9UzgxrhZE2fCCQ5noz1doI
        /vZdY3PJ9gEOuSD/DI8kTeKzMY96wP1sfydYxvP3OJNhKZYaxg9RbzFGWEIiTkUk
        LLv1fPNwrYMWBDSBTjmoapIgt0cXydA0mUcof0fc/BYAylLhxDrI5EQ6rVaMyXCM
        gltuLRQRkDBfsshJ2QJBAOM8/NiFland+SVPGqynnFXwTOsI3ChXZmZ0n7i5N4Mw
        bOCp639tBXrfzEz88w27D2OJgQG7XjNX4TjCtytnCZMCQQDYGX3cFBPJ0d/Ytj2H
        rLDlGDzQVgujyam3ly2VMky2udeYu+o+9pbqzV7KG/c+g0uUG2JyD5+a3Lq4IQgR
        lchtAkBzAf3yVAHAXFDpmhSlB5uvPxSe6/gJDtsLxcDEzDEVW5/vQPCoqHPakYQj
        /u3AqEkMlp5NUxhFIhgiEyKDe/2zAkBcIOILhXO6QwOPvIIW6YSw5thmaYik10DH
        yGfih4M1E53au6JuHWrRx6R1vd52hDsgdVxPDGIa/6eLAGoUNSsxAkABUREZ03Mg
        bYSY9BUlaYmSMSP7uBQ+7mvmAwLIKxb5xj79WV9KERqX9yiAByEFIjuy1aHF9+2y
        hCMYXdB1uUFy
        -----END PRIVATE KEY-----
        """

    /// A key on the curve P-384, which is not supported.
    static let p384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDCQIfdP/HWpqABtUGh5
        X2Ii5SlfxL9C5v8cAdgvQBnk7y3Vp8FOmljT5Vl2Y+Lr5U6hZANiAATjISEucJ5K
        N0+Mhr3bLBBaaTORcgWIwKdQcMP977KxD2t7+T0ELvbu08o71bbE6HNnW/7Grx4Y
        yEaT2eJ0lcdyfytb4FRhP+oKJGaNmXEWC1+sDFCqeZYoD8TL39s9/EU=
        -----END PRIVATE KEY-----
        """

    /// An Ed25519 key, which is not supported.
    static let ed25519 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIKIKKmBvyP28EeRZudy8QNRc9sDnaSpP6IBy/49XA7rr
        -----END PRIVATE KEY-----
        """
}
