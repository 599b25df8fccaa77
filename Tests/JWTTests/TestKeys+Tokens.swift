import TestSupport

/// Further keys, and tokens signed with them.
extension TestKeys {
    /// The current time in the tests, in seconds since 1970. Most tokens expire an hour later.
    static let now: Int64 = 1_800_000_000

    /// Another RSA key of 2,048 bits.
    static let otherRSAModulus = """
        yBHbs9C11sMG97fQkN6w-MlC4De9cX4jCgVymp37JehxQhjHVaYrnBgVqa04PfoIwSO2CIg_9hPtdheXotk8nLlGDCzeED6iFQIL\
        sjrT4lZmpn-P7ajRCi7m3UmXmg2VCzWzsSH0udMTvZW6iPvPVBIiCKvGpX7_oe6FF5gK1wu4ijlXMQKDw1WK_HxQaR5uHvCQyyPa\
        fH-oKWoP6k3vS8Klk2i9s_mYMeyqnnodubgA361eR5fX9dqFVtz--Pj9dw2PdS3emGajBuSeSl59btyARZjELz31whSwWyqIQ3Rj\
        7FQiZiCw6Kwg_rmUoQ-0EGihUb5xEYyHj4Fo8JhMCQ
        """

    /// The key of ``otherRSAModulus`` in a certificate.
    static let otherRSACertificate = """
        -----BEGIN CERTIFICATE-----
        MIICoTCCAYmgAwIBAgIBBzANBgkqhkiG9w0BAQsFADAUMRIwEAYDVQQDDAl0ZXN0
        IG9ubHkwHhcNMjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjAUMRIwEAYDVQQD
        DAl0ZXN0IG9ubHkwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQDIEduz
        0LXWwwb3t9CQ3rD4yULgN71xfiMKBXKanfsl6HFCGMdVpiucGBWprTg9+gjBI7YI
        iD/2E+12F5ei2TycuUYMLN4QPqIVAguyOtPiVmamf4/tqNEKLubdSZeaDZULNbOx
        IfS50xO9lbqI+89UEiIIq8alfv+h7oUXmArXC7iKOVcxAoPDVYr8fFBpHm4e8JDL
        I9p8f6gpag/qTe9LwqWTaL2z+Zgx7Kqeeh25uADfrV5Hl9f12oVW3P74+P13DY91
        Ld6YZqMG5J5KXn1u3IBFmMQvPfXCFLBbKohDdGPsVCJmILDorCD+uZShD7QQaKFR
        vnERjIePgWjwmEwJAgMBAAEwDQYJKoZIhvcNAQELBQADggEBAHh0hTgvRX2j83QQ
        YtqD4rw/QTDZHmjlaaXPRrg0ZDVRNF7AIT2mAZJdeSaDvSe0eAh0ISRyH2kgpiWM
        bAYaKovWV1UAXv2nJ/PM8rE2m4I9NrAfLN3SwA3FZciyVC1o868PGUlItS56DBw/
        2vBGYhbGOGS+ZLnzzyvW6aUGBxb2ArC8bNH1mOooZS8Qt6/tKQOEgdrplyctuTrA
        SvLkz3zFDb0D/oCSJqRu5HTFOyhi0mjkwCZWwxIkuo8X+D6ECSRaoPDhsv1MBbvf
        owAh8elaBiKQ94tkOCv+0BNTywHzoDSO6z6CqIy3y6+3Kd3jp+einBWLUZG/tj1E
        BeEbC90=
        -----END CERTIFICATE-----
        """

    /// An RSA key of 1,024 bits.
    static let shortRSAModulus = """
        p_1sHaVkEU0g9I14biHwIi_7GzOoZ1BgcB7hyHjJd4JYjPONtNzIrJYjSopsl5kd5rz2PH5IHZa6OCSYt7rfngO5gzcsv7ujDBgF\
        fkVQXao9RrOZnE3C-UBuaU5O-yN5BBtaA_IcNcuhekilg1FzZhQNHAFE5wzopOz3sCxBGtU
        """

    /// ``p256`` in a certificate.
    static let p256Certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBFDCBu6ADAgECAgEHMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCXRlc3Qgb25s
        eTAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMDEwMDAwMDBaMBQxEjAQBgNVBAMMCXRl
        c3Qgb25seTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGmgBx3vvHrAt/Qozli5
        T3RXzZV9KkISLoMc/zGjwr+PW1IQ3iFlMzaQP0pm7CG8tC3MTfOttdUpQr2w8Gy0
        TokwCgYIKoZIzj0EAwIDSAAwRQIhAI7RnpfKEfSFHrz5NNhn5I3rb3z7Kr+ZTlwM
        VMJD0asJAiBEpk5+9jAuz7h6ezB7dLJIglIlA9QAyTslmYHvVolUMw==
        -----END CERTIFICATE-----
        """

    /// A token of driver 42, signed by the key `rsa1` of https://rsa.example.
    static let rs256 = """
        eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYTEifQ.eyJpc3MiOiJodHRwczovL3JzYS5leGFtcGxlIiwic3ViIjoiNDIiLCJyb2xlI\
        joiZHJpdmVyIiwiZXhwIjoxODAwMDAzNjAwfQ.cqd8oT4p-KF8dPKbuNZ_IXM16U0gHwOSNEumMUdTsrlUj7_k3YKyxX5GnncAZs\
        VybfLwnxz7BFimJ3lg2I7TgRZQWfxXR-5VBl4nu5sowGH5znjm_hQLwR3eJnXxkSTg1ALaChcO-Z26NgWGZin8xbDBr-84x2U3_7\
        a3Vm6CfBF00qsJRRZse5XJw3yPJtdmAlvadUcczRidB4T49Q4BBxg5sxaB49040Zau3KVK5d6A9aJjFu4JB88CHJSD2AEXoLQILI\
        CHcyC0D_nhkMuG_YFufYDnzu0SHFVnIJbiuVkuKh_GsWAQ9qIBJU_xyo_dHCCIOy3i6PRHIpoexMrZqA
        """

    /// Like ``rs256``, without a `kid`.
    static let rs256WithoutKeyID = """
        eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL3JzYS5leGFtcGxlIiwic3ViIjoiNDIiLCJyb2xlIjoiZHJpdmVyIiwiZXh\
        wIjoxODAwMDAzNjAwfQ.e19JTc2i0xt_vW3RwGM6kxbNEvbjnTm0NSA--WTYk06LDut-SzQzIgcE5OgsrnQ4DaPUMj09TQuRx73Q\
        pHYlEwry9ywLuhjPYHZXobvC5ifUbabFWWWOrdEhI6xr1cErKMalKubrz-91DzKxhV_zGVzbI_4Md6cST7NL2xIhUiHZN5Fihs3g\
        PCtF7_3q5l6tIdRn70pPyFbTs_S6aq8eVeCdzyEEbAFtQZn0XmGgoE5TNluKbvy6xRN_8B7T-Z3KdJNB9kyg6jQRE0X55nKGeKC3\
        XNHcR6v1WW_-ByF2sWMl1vp8HXT8BYTvT8mUCQ_SSyZUKEUoxrjwWzu9sWi19g
        """

    /// A token of driver 42, signed by the key `ec1` of https://ec.example.
    static let es256 = """
        eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjMSJ9.eyJpc3MiOiJodHRwczovL2VjLmV4YW1wbGUiLCJzdWIiOiI0MiIsInJvbGUiOiJ\
        kcml2ZXIiLCJleHAiOjE4MDAwMDM2MDB9.jNUZxdowUJQTSg8Mw3EqT0JR7PlZAA3-6KJzqHRfz_smAJU8zJ9t4fxT7M8CLw4UoO\
        --Hj5vEdDrklicbha6-g
        """

    /// Like ``es256``, but its signature is in DER as OpenSSL writes it.
    static let es256DER = """
        eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjMSJ9.eyJpc3MiOiJodHRwczovL2VjLmV4YW1wbGUiLCJzdWIiOiI0MiIsInJvbGUiOiJ\
        kcml2ZXIiLCJleHAiOjE4MDAwMDM2MDB9.MEUCIQDItwyeaq2M59Tx77p46-LUowFZOavfVa39-Bzsbdp1qgIgSDkiRivngBad6o\
        SMKX3P0CdN7aswHBQXh_7T1sc9Z8c
        """

    /// A token whose `iss` is https://rsa.example, but which is signed by the key `ec1` of https://ec.example.
    static let foreignKey = """
        eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjMSJ9.eyJpc3MiOiJodHRwczovL3JzYS5leGFtcGxlIiwic3ViIjoiNDIiLCJyb2xlIjo\
        iZHJpdmVyIiwiZXhwIjoxODAwMDAzNjAwfQ.zrlIMjwBKLoK1d8vuYxXP_WOvjOChRvRFbjGIo-PwyDCIkJ_Vu4oLT2NQKw7acoi\
        u6yrrQsY2fMQBUDa-4CIcw
        """

    /// A token whose `iss` is https://rsa.example, but which is signed by the key `other1` of another issuer.
    static let foreignKeyID = """
        eyJhbGciOiJSUzI1NiIsImtpZCI6Im90aGVyMSJ9.eyJpc3MiOiJodHRwczovL3JzYS5leGFtcGxlIiwic3ViIjoiNDIiLCJyb2x\
        lIjoiZHJpdmVyIiwiZXhwIjoxODAwMDAzNjAwfQ.F1z5nh-HieZH4yR1NYeoSl6XO_2fYBz5voyziDqDBxfwkICZHboQYL2EcVSr\
        rSW1JVrMZC9xMG1ebDkWGAEHHGif2IzPPryKP7K_09p1mBidF5wmLYob_iQlbuyYZeplAh-kdwWd3FZWFabQNsLwpa515YAgdKfk\
        DjC8X2d4ipygxXOQ5ZZtLwLnVtYcIpfK-zGNR0nTztn_WJBtT8xv8V6AQwZRBd2ToMM0mN6_cvFkoIjaJz1ZjoWqPyUob3ly0Zut\
        h41WpuieMAvIYqXDGySNSlpA6VZZf9RUtmQ5cwZFldEZ8wb08ezIaY7BjXB7ObFGfTHv7BeKYWJCwrGrFA
        """

    /// A token signed by a key that only its own header provides, in `jwk`, `jku` and `x5u`.
    static let ownKey = """
        eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYTEiLCJqd2siOnsia3R5IjoiUlNBIiwibiI6InlCSGJzOUMxMXNNRzk3ZlFrTjZ3LU1s\
        QzREZTljWDRqQ2dWeW1wMzdKZWh4UWhqSFZhWXJuQmdWcWEwNFBmb0l3U08yQ0lnXzloUHRkaGVYb3RrOG5MbEdEQ3plRUQ2aUZR\
        SUxzanJUNGxabXBuLVA3YWpSQ2k3bTNVbVhtZzJWQ3pXenNTSDB1ZE1UdlpXNmlQdlBWQklpQ0t2R3BYN19vZTZGRjVnSzF3dTRp\
        amxYTVFLRHcxV0tfSHhRYVI1dUh2Q1F5eVBhZkgtb0tXb1A2azN2UzhLbGsyaTlzX21ZTWV5cW5ub2R1YmdBMzYxZVI1Zlg5ZHFG\
        VnR6LS1QajlkdzJQZFMzZW1HYWpCdVNlU2w1OWJ0eUFSWmpFTHozMXdoU3dXeXFJUTNSajdGUWlaaUN3Nkt3Z19ybVVvUS0wRUdp\
        aFViNXhFWXlIajRGbzhKaE1DUSIsImUiOiJBUUFCIn0sImprdSI6Imh0dHBzOi8vZXZpbC5leGFtcGxlL2tleXMiLCJ4NXUiOiJo\
        dHRwczovL2V2aWwuZXhhbXBsZS94NXUifQ.eyJpc3MiOiJodHRwczovL3JzYS5leGFtcGxlIiwic3ViIjoiNDIiLCJyb2xlIjoiZ\
        HJpdmVyIiwiZXhwIjoxODAwMDAzNjAwfQ.qBx4Wg9E29iRTiO6z9H0FzMGGEA3SXDHA4ZQwREyCx3f6_B5U1jBHGmUymWvfiy6pq\
        9MkXfleRUaYqStWhpTq5ViDideCoV8ByVACDdOpD1ObSf7EakpNIwbiH6V18B22xZB6MojIY1NAGc29bsJjeveqYLT-gDkA7MdDD\
        bUyUSZBwrLhYczmaOBCTGdNJTEZiSVCnmSHoU7zI05zuy6HTFPhZlNvQcPNPR8YN4o-CLHVaYNqoWu3ROXrAHOrdKewdiLt15qkq\
        XpdS--5nBQ1XND5mxpTrbL-fjLW1UaDmmaSlsDeX4EhonqwIqO_ZzfSZhD5wOkdPVdnzuXXNgj-A
        """

    /// A token of the user uid1 of the Firebase project fleet-test.
    static let firebase = """
        eyJhbGciOiJSUzI1NiIsImtpZCI6ImZiMSIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJodHRwczovL3NlY3VyZXRva2VuLmdvb2dsZS5\
        jb20vZmxlZXQtdGVzdCIsImF1ZCI6ImZsZWV0LXRlc3QiLCJhdXRoX3RpbWUiOjE3OTk5OTk5MDAsImlhdCI6MTc5OTk5OTk1MCw\
        iZXhwIjoxODAwMDAzNTUwLCJzdWIiOiJ1aWQxIiwidXNlcl9pZCI6InVpZDEifQ.lDkk6vexi7jPCfGZtnYyTkI1mvoOuqNn8wAx\
        T5diZJFqIBDgPQPPkNjxggVTn_AdrhRIbQWO-MCmtyylLW7nciOecPpSpGDxaSKrKZgypjPUP-9PrB5S6sa-9mjLmOrLfEVdqhiS\
        dRcf790zq4yNVp7v8thGBXwXH93FBhfhbkp1HdesGifqNXGFIsaoPzkbIUgVCE-qHCfPdh0TbJ5ruiArKKC4ZOM9BdajbDg5OBg_\
        PDkFEtUUaeHbaqyDCGZb8ZYkeuO7xYMO3NvGKy_nFvQDc4O0FAtpic9CT_eRW1fUIDy5oAxt7GZAHSvRS3AKQz_CNGzlXSQxQo8z\
        gO7L-w
        """

    /// Like ``firebase``, with the claims of driver D-7.
    static let firebaseDriver = """
        eyJhbGciOiJSUzI1NiIsImtpZCI6ImZiMSIsInR5cCI6IkpXVCJ9.eyJkcml2ZXJfaWQiOiJELTciLCJyb2xlIjoiRHJpdmVyIiw\
        iaXNzIjoiaHR0cHM6Ly9zZWN1cmV0b2tlbi5nb29nbGUuY29tL2ZsZWV0LXRlc3QiLCJhdWQiOiJmbGVldC10ZXN0IiwiYXV0aF9\
        0aW1lIjoxNzk5OTk5OTAwLCJpYXQiOjE3OTk5OTk5NTAsImV4cCI6MTgwMDAwMzU1MCwic3ViIjoidWlkMSIsInVzZXJfaWQiOiJ\
        1aWQxIn0.jw_UUo_vb9ZLlv-np0iW6UPbI5MuSA8SIuwjltlnCevdNTTPxJnIcSnGFPiIcnqVonPBj_sncPRDR7ULCMy2-a2hv0r\
        MPTjuEJwiSnHktiLrX_KEG9jGN1WWdaZX6aV55kF_pVShRGerzu-P128GeQKuB8JfdaNKSn4jY3AuA7FK-NDHh7J8Hq-2ki2eNH5\
        DJguVBRgKspgSs6W0UXTxY2rqx9WMtUToGabm0kFnbw2vyOKybeKsFPZB6KnKewi2ExyIbeI45r-KyEJMCgAC4XjWKL3bjQTxz6B\
        NzvzhV01EQQGttg_Ntl0fSNxfw7y0WsbbkGaucJ6yxWdOKE99gQ
        """
}
