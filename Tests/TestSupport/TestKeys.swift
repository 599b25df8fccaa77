/// Public keys made for the tests and used nowhere else.
package enum TestKeys {
    /// An RSA key of 2,048 bits with the exponent 65537.
    package static let rsa = """
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

    /// The modulus of ``rsa``, in base64url.
    package static let rsaModulus = """
        u_Aem-1C69dVJF0Z-evhXHLA2uoGkN5Gr9p5vmyuVQ1gQkFsNl9C9DXyREhIkEKoNiu5UFZAn-FYFb6FAxJovAhcAwQb5VOllEqx\
        UsaeXhXXbTBNgEJFw7Kj8wIEFZa4_VsY9was4D_WxEAAQfHdCyvnllagYRuACyCaKeXlltmJSfzg-Iv8TV8GVQTU4rVNE3RIqnc9\
        vtSVvYhbBeA36PpgZ6ZkZncw2GzjwpJKENoY7L_KVvp2gGJ2FKyoefnLiKTPfLXJdL1DlqUmSMIA4amSsGWSS1nFme9uNSiccC1R\
        EFIISw0Htsh2qQrpQXsdcj9WRybcjuTzgl2TitGBwQ
        """

    /// The key ``rsa`` in a certificate that expired in 2021.
    package static let rsaCertificate = """
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

    /// An EC key on the curve P-256.
    package static let p256 = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaaAHHe+8esC39CjOWLlPdFfNlX0q
        QhIugxz/MaPCv49bUhDeIWUzNpA/SmbsIby0LcxN86211SlCvbDwbLROiQ==
        -----END PUBLIC KEY-----
        """

    /// The x coordinate of ``p256``, in base64url.
    package static let p256X = """
        aaAHHe-8esC39CjOWLlPdFfNlX0qQhIugxz_MaPCv48
        """

    /// The y coordinate of ``p256``, in base64url.
    package static let p256Y = """
        W1IQ3iFlMzaQP0pm7CG8tC3MTfOttdUpQr2w8Gy0Tok
        """
}
