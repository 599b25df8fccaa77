import TestSupport

/// Further keys, and signatures of ``signedMessage``.
extension TestKeys {
    static let signedMessage = "to be signed"

    /// ``rsa`` in PKCS #1.
    static let rsaPKCS1 = """
        -----BEGIN RSA PUBLIC KEY-----
        MIIBCgKCAQEAu/Aem+1C69dVJF0Z+evhXHLA2uoGkN5Gr9p5vmyuVQ1gQkFsNl9C
        9DXyREhIkEKoNiu5UFZAn+FYFb6FAxJovAhcAwQb5VOllEqxUsaeXhXXbTBNgEJF
        w7Kj8wIEFZa4/VsY9was4D/WxEAAQfHdCyvnllagYRuACyCaKeXlltmJSfzg+Iv8
        TV8GVQTU4rVNE3RIqnc9vtSVvYhbBeA36PpgZ6ZkZncw2GzjwpJKENoY7L/KVvp2
        gGJ2FKyoefnLiKTPfLXJdL1DlqUmSMIA4amSsGWSS1nFme9uNSiccC1REFIISw0H
        tsh2qQrpQXsdcj9WRybcjuTzgl2TitGBwQIDAQAB
        -----END RSA PUBLIC KEY-----
        """

    /// A signature by ``rsa`` with PKCS #1 v1.5 padding (RS256).
    static let rsaSignature = """
        BWQslurG4K4L9xl5dmXy4E_hIq5ZBTwPyVxOv0_z4U6nIKTmojqjFv97nKyCQeDkJ0PRFK_K82Gqkg-IEe5E1eBldzKi0hPek88T\
        AIeBVQiLxOUj4zgQ3FbnMuJCcPENeTCGJqbT4vZsn3FCSbcrqfjqX_Xk75M_A-IC7ioqD0vLcQEibhOD75oPS4BXFFpBRWbsW_kb\
        EeqZPduBYB8RQJRYI9Iy8aXgymrhmS84FEVGSxxZjt4vi3Po-Kdcj0Qd9IIOOMruYYlEtZ7BkbLfygPRYpWedtUTTf6sZpzxfvV2\
        C1wcaBPz_48GwqAP12cvnfAONcaKc7bsdblu6K5_pg
        """

    /// A signature by ``rsa`` with PSS padding (PS256).
    static let rsaPSSSignature = """
        qGMWDbHoOEmwK9OtZMutCqss1eJe4za_7q5ygXzOh_UaSZvPsa5DuorkUPaFTgu86zkipo2YEAwR0fPdTrODv-Ct-zy0ePIxVpA2\
        lMlhXtfZLx8EXye6oEq8xP6WG6Rq1c-eiLJyc7aq4bv0plOYXXakKtKJWg9RtsmhMX_nxNK725yJb9KKMEeBOVXeBZU6bz3DHE6j\
        BN7ghabMbybYLzTNZXSDjY46NunSfgPfGt_hsaOBrdo4wWOpIs6RuMG3Iq3-1c_SqtujfXjV8pJwBqEVgkXFrW5F3HOOidLu3Hq-\
        1ADWcxDXiKTwVvgz38QCLH_DWQc1eEncSv2fUx_e3Q
        """

    /// A signature by ``rsa`` of the SHA-1 digest.
    static let rsaSHA1Signature = """
        GUB5Nr94Pl5mo3CXCCBmOWEWqZ5CpQpXitCCk9-G5Jr6mmLDsgfarnUOV4HPyD7z3ETU55k7qmV0--A-S6Ht35Hagk47aHvWXwq1\
        vIjeGzhfg23GchI00UjN-RQKq6u2gDh0QUijE8sLQUzHX23_Avbnjoxkdp91gChdVVhkaXzqlLSqdVqyjeZ3gdF0RiaI1LnRNJk6\
        jKsmVYrMkQ0eRElsbvScwP7e9MCkVmnt8b0LIgAsA03LjoQCzO7kMgudzj6GQHrAhry65OkXC_0IKJ1QEXubcqKAuX3eevYK-aZA\
        mZ8i8Ky-HvhS0T-mc92LJj0sFKxQDxt16-K5TUEMZw
        """

    /// ``p256`` in a certificate.
    static let p256Certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBFTCBu6ADAgECAgEHMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCXRlc3Qgb25s
        eTAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMDEwMDAwMDBaMBQxEjAQBgNVBAMMCXRl
        c3Qgb25seTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGmgBx3vvHrAt/Qozli5
        T3RXzZV9KkISLoMc/zGjwr+PW1IQ3iFlMzaQP0pm7CG8tC3MTfOttdUpQr2w8Gy0
        TokwCgYIKoZIzj0EAwIDSQAwRgIhAIpdo1vvw4h3dGCkfdFwkfpd/MUFhDLqRthU
        rgnh+JyeAiEAnMIpdBBMD6faNn24eF446tYIAb+zQz2or1VWZG+ulv4=
        -----END CERTIFICATE-----
        """

    /// A signature by ``p256`` in JOSE's form: r and s, 32 bytes each (RFC 7518 section 3.4).
    static let p256Signature = """
        RvCrMrWu8hKYRu5zStACebYFZzaxaMjD7gRyKJtCIR6pPi9nb1CZepK_Z41gdU68XGiiGNunYjUyL-IE6NWVVA
        """

    /// A signature by ``p256`` in DER, as OpenSSL writes it.
    static let p256DERSignature = """
        MEQCIFelB9vPb6Bo7kO9KL4AOCIdNgY7PG9pBxYjZ3L3O3fHAiACtt4-AeXouW25OgyPkDI6_hHeHDGvHWh8kWb0OY8I-w
        """

    /// Another key on P-256.
    static let otherP256 = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAErj/zU6SfmckO50ShTLfjpkMTY6AC
        W7Ii42t8QkERVJm6MQfp31eFa5V+aMyBlm3EsWto90jzx7qCiL8eM51gvg==
        -----END PUBLIC KEY-----
        """

    /// An RSA key of 1,024 bits, which is too short.
    static let rsa1024 = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCn/WwdpWQRTSD0jXhuIfAiL/sb
        M6hnUGBwHuHIeMl3gliM84203MisliNKimyXmR3mvPY8fkgdlro4JJi3ut+eA7mD
        Nyy/u6MMGAV+RVBdqj1Gs5mcTcL5QG5pTk77I3kEG1oD8hw1y6F6SKWDUXNmFA0c
        AUTnDOik7PewLEEa1QIDAQAB
        -----END PUBLIC KEY-----
        """

    /// A key on an unsupported curve.
    static let p384 = """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAECiY/svfZ3XRsuqiuoStga/1MgUecZQde
        V/Z8FeXkjuoU4s39BzRC9l1bMMXO30OHhDJtdaGWeBCJCmTx/3yLzk7r2/MLwD65
        TYlDVC9K15hQ29MwPTMarep2WVkmPL+S
        -----END PUBLIC KEY-----
        """

    /// A key of an unsupported algorithm.
    static let ed25519 = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEAIUUO6DDCs1aT932B88V2CXGANMNIYlg92rMnVJkfKXk=
        -----END PUBLIC KEY-----
        """

    /// The private key of ``otherP256``. Tests also pass it where a public key is expected.
    static let privateP256 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg9pjoIxxGe4/4hbPr
        1i6gFgUOfw3ktuxQpNDDon/uqwahRANCAASuP/NTpJ+ZyQ7nRKFMt+OmQxNjoAJb
        siLja3xCQRFUmboxB+nfV4VrlX5ozIGWbcSxa2j3SPPHuoKIvx4znWC+
        -----END PRIVATE KEY-----
        """

    /// An encrypted private key. OpenSSL asks the terminal for its passphrase unless a callback prevents that.
    static let encryptedP256 = """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-256-CBC,E3BAE95D53CAA6653EEC7174F7BC0BD2

        M3eGcLPUYpWsGTvvUig4QdbR7dE3d08sBAsbtjmIKvTHpMJOe8vkxBgN4Tj622d8
        1l0fStQQHTJWPV1v97yQj9nvGHFXOhlwhmt6r7AsKQd1zDLDtq41j3r+vx59GSMN
        wXBUH8g7ba/rPQ8o1HK4MsQHX6wf4D0hbWM7JG0kkS0=
        -----END EC PRIVATE KEY-----
        """
}
