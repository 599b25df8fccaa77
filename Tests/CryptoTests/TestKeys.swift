/// Keys made for these tests and used nowhere else, and signatures of `signedText` by their owners.
enum TestKeys {
    static let signedText = "to be signed"

    /// RSA, 2,048 bits.
    static let rsa = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu/Aem+1C69dVJF0Z+evh
        XHLA2uoGkN5Gr9p5vmyuVQ1gQkFsNl9C9DXyREhIkEKoNiu5UFZAn+FYFb6FAxJo
        vAhcAwQb5VOllEqxUsaeXhXXbTBNgEJFw7Kj8wIEFZa4/VsY9was4D/WxEAAQfHd
        CyvnllagYRuACyCaKeXlltmJSfzg+Iv8TV8GVQTU4rVNE3RIqnc9vtSVvYhbBeA3
        6PpgZ6ZkZncw2GzjwpJKENoY7L/KVvp2gGJ2FKyoefnLiKTPfLXJdL1DlqUmSMIA
        4amSsGWSS1nFme9uNSiccC1REFIISw0Htsh2qQrpQXsdcj9WRybcjuTzgl2TitGB
        wQIDAQAB
        -----END PUBLIC KEY-----
        """

    /// The same as PKCS #1.
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

    /// The same in a certificate that expired in 2021.
    static let rsaCertificate = """
        -----BEGIN CERTIFICATE-----
        MIICoTCCAYmgAwIBAgIBBzANBgkqhkiG9w0BAQsFADAUMRIwEAYDVQQDDAl0ZXN0
        IG9ubHkwHhcNMjAwMTAxMDAwMDAwWhcNMjEwMTAxMDAwMDAwWjAUMRIwEAYDVQQD
        DAl0ZXN0IG9ubHkwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQC78B6b
        7ULr11UkXRn56+FccsDa6gaQ3kav2nm+bK5VDWBCQWw2X0L0NfJESEiQQqg2K7lQ
        VkCf4VgVvoUDEmi8CFwDBBvlU6WUSrFSxp5eFddtME2AQkXDsqPzAgQVlrj9Wxj3
        BqzgP9bEQABB8d0LK+eWVqBhG4ALIJop5eWW2YlJ/OD4i/xNXwZVBNTitU0TdEiq
        dz2+1JW9iFsF4Dfo+mBnpmRmdzDYbOPCkkoQ2hjsv8pW+naAYnYUrKh5+cuIpM98
        tcl0vUOWpSZIwgDhqZKwZZJLWcWZ7241KJxwLVEQUghLDQe2yHapCulBex1yP1ZH
        JtyO5POCXZOK0YHBAgMBAAEwDQYJKoZIhvcNAQELBQADggEBAD+65mtwos9X14Ry
        95MlqnA5D1o/Qvv1lFN2xgtujTJ4MevqF681ijMsXhCwqbRjP54T5M6GTjIg/0ic
        wECdXFuyy8Fky3/Fp9HtVoSDSFABoEv6VUK0rFBLQpAjkbXIihT9f5s+N1Gjyicn
        5TuDlu6qaMj/jPhZh7NumOyZOx8OR9Ob83ticZT81sExXQh/fOLWpVIu7fa5ZxFt
        M9Zp4yOCe8p+xE90pXddZ9pptCq8bR7SX9wNvGJcJJAuFs1pyJSQa0WFCkC7MI6z
        HYbJVbFcU5NtMCwHgRz3smsTMI8tLL1q9z6IbhtxySePnJKxRliQySyHkeif1SKd
        xqwedac=
        -----END CERTIFICATE-----
        """

    /// The same as numbers; its exponent is 65537.
    static let rsaModulus = """
        u_Aem-1C69dVJF0Z-evhXHLA2uoGkN5Gr9p5vmyuVQ1gQkFsNl9C9DXyREhIkEKoNiu5UFZAn-FYFb6FAxJovAhcAwQb5VOllEqx\
        UsaeXhXXbTBNgEJFw7Kj8wIEFZa4_VsY9was4D_WxEAAQfHdCyvnllagYRuACyCaKeXlltmJSfzg-Iv8TV8GVQTU4rVNE3RIqnc9\
        vtSVvYhbBeA36PpgZ6ZkZncw2GzjwpJKENoY7L_KVvp2gGJ2FKyoefnLiKTPfLXJdL1DlqUmSMIA4amSsGWSS1nFme9uNSiccC1R\
        EFIISw0Htsh2qQrpQXsdcj9WRybcjuTzgl2TitGBwQ
        """

    /// By the owner of `rsa`.
    static let rsaSignature = """
        BWQslurG4K4L9xl5dmXy4E_hIq5ZBTwPyVxOv0_z4U6nIKTmojqjFv97nKyCQeDkJ0PRFK_K82Gqkg-IEe5E1eBldzKi0hPek88T\
        AIeBVQiLxOUj4zgQ3FbnMuJCcPENeTCGJqbT4vZsn3FCSbcrqfjqX_Xk75M_A-IC7ioqD0vLcQEibhOD75oPS4BXFFpBRWbsW_kb\
        EeqZPduBYB8RQJRYI9Iy8aXgymrhmS84FEVGSxxZjt4vi3Po-Kdcj0Qd9IIOOMruYYlEtZ7BkbLfygPRYpWedtUTTf6sZpzxfvV2\
        C1wcaBPz_48GwqAP12cvnfAONcaKc7bsdblu6K5_pg
        """

    /// By the same, padded otherwise (PS256).
    static let rsaPSSSignature = """
        qGMWDbHoOEmwK9OtZMutCqss1eJe4za_7q5ygXzOh_UaSZvPsa5DuorkUPaFTgu86zkipo2YEAwR0fPdTrODv-Ct-zy0ePIxVpA2\
        lMlhXtfZLx8EXye6oEq8xP6WG6Rq1c-eiLJyc7aq4bv0plOYXXakKtKJWg9RtsmhMX_nxNK725yJb9KKMEeBOVXeBZU6bz3DHE6j\
        BN7ghabMbybYLzTNZXSDjY46NunSfgPfGt_hsaOBrdo4wWOpIs6RuMG3Iq3-1c_SqtujfXjV8pJwBqEVgkXFrW5F3HOOidLu3Hq-\
        1ADWcxDXiKTwVvgz38QCLH_DWQc1eEncSv2fUx_e3Q
        """

    /// By the same, of the SHA-1 digest.
    static let rsaSHA1Signature = """
        GUB5Nr94Pl5mo3CXCCBmOWEWqZ5CpQpXitCCk9-G5Jr6mmLDsgfarnUOV4HPyD7z3ETU55k7qmV0--A-S6Ht35Hagk47aHvWXwq1\
        vIjeGzhfg23GchI00UjN-RQKq6u2gDh0QUijE8sLQUzHX23_Avbnjoxkdp91gChdVVhkaXzqlLSqdVqyjeZ3gdF0RiaI1LnRNJk6\
        jKsmVYrMkQ0eRElsbvScwP7e9MCkVmnt8b0LIgAsA03LjoQCzO7kMgudzj6GQHrAhry65OkXC_0IKJ1QEXubcqKAuX3eevYK-aZA\
        mZ8i8Ky-HvhS0T-mc92LJj0sFKxQDxt16-K5TUEMZw
        """

    /// A point of P-256.
    static let p256 = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaaAHHe+8esC39CjOWLlPdFfNlX0q
        QhIugxz/MaPCv49bUhDeIWUzNpA/SmbsIby0LcxN86211SlCvbDwbLROiQ==
        -----END PUBLIC KEY-----
        """

    /// The same in a certificate.
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

    /// Its coordinates.
    static let p256X = """
        aaAHHe-8esC39CjOWLlPdFfNlX0qQhIugxz_MaPCv48
        """

    /// Its coordinates.
    static let p256Y = """
        W1IQ3iFlMzaQP0pm7CG8tC3MTfOttdUpQr2w8Gy0Tok
        """

    /// By the owner of `p256`: r and s.
    static let p256Signature = """
        RvCrMrWu8hKYRu5zStACebYFZzaxaMjD7gRyKJtCIR6pPi9nb1CZepK_Z41gdU68XGiiGNunYjUyL-IE6NWVVA
        """

    /// By the same, as OpenSSL writes it.
    static let p256DERSignature = """
        MEQCIFelB9vPb6Bo7kO9KL4AOCIdNgY7PG9pBxYjZ3L3O3fHAiACtt4-AeXouW25OgyPkDI6_hHeHDGvHWh8kWb0OY8I-w
        """

    /// Another point of P-256.
    static let otherP256 = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAErj/zU6SfmckO50ShTLfjpkMTY6AC
        W7Ii42t8QkERVJm6MQfp31eFa5V+aMyBlm3EsWto90jzx7qCiL8eM51gvg==
        -----END PUBLIC KEY-----
        """

    /// RSA, too short.
    static let rsa1024 = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCn/WwdpWQRTSD0jXhuIfAiL/sb
        M6hnUGBwHuHIeMl3gliM84203MisliNKimyXmR3mvPY8fkgdlro4JJi3ut+eA7mD
        Nyy/u6MMGAV+RVBdqj1Gs5mcTcL5QG5pTk77I3kEG1oD8hw1y6F6SKWDUXNmFA0c
        AUTnDOik7PewLEEa1QIDAQAB
        -----END PUBLIC KEY-----
        """

    /// A point of another curve.
    static let p384 = """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAECiY/svfZ3XRsuqiuoStga/1MgUecZQde
        V/Z8FeXkjuoU4s39BzRC9l1bMMXO30OHhDJtdaGWeBCJCmTx/3yLzk7r2/MLwD65
        TYlDVC9K15hQ29MwPTMarep2WVkmPL+S
        -----END PUBLIC KEY-----
        """

    /// A key of another kind.
    static let ed25519 = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEAIUUO6DDCs1aT932B88V2CXGANMNIYlg92rMnVJkfKXk=
        -----END PUBLIC KEY-----
        """

    /// What nobody should configure.
    static let privateP256 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg9pjoIxxGe4/4hbPr
        1i6gFgUOfw3ktuxQpNDDon/uqwahRANCAASuP/NTpJ+ZyQ7nRKFMt+OmQxNjoAJb
        siLja3xCQRFUmboxB+nfV4VrlX5ozIGWbcSxa2j3SPPHuoKIvx4znWC+
        -----END PRIVATE KEY-----
        """

    /// What would ask for a password, if it were read.
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
