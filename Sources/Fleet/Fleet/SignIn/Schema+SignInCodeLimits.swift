extension Schema {
    /// Version 20: codes are limited by more than the phone, and a phone has one number.
    static let codeLimits = [
        // The codes of an hour (milliseconds since 1970, divided by 3,600,000), by what limits them: so no limit has to count
        // rows. `subject` is a `SignInCodeLimitTable.Subject`.
        """
        CREATE TABLE code_counts (
            subject TEXT NOT NULL, hour BIGINT NOT NULL, codes BIGINT NOT NULL, PRIMARY KEY (subject, hour))
        """,
        "CREATE INDEX code_counts_by_age ON code_counts (hour)",
        """
        INSERT INTO code_counts (subject, hour, codes) SELECT 'all', at / 3600000, COUNT(*) FROM code_sends
            GROUP BY at / 3600000
        """,
        // Beginnings of numbers (`SignInCodePrefix`).
        """
        CREATE TABLE code_prefixes (
            prefix TEXT NOT NULL PRIMARY KEY, unused BIGINT NOT NULL, stopped_at BIGINT, used_at BIGINT NOT NULL)
        """,
        "CREATE INDEX code_prefixes_by_age ON code_prefixes (used_at)",
        // Client addresses from which a phone has signed in, as digests of phone and address under the key `key_id`.
        """
        CREATE TABLE own_addresses (
            phone TEXT NOT NULL, digest BLOB NOT NULL, key_id TEXT NOT NULL, signed_in_at BIGINT NOT NULL,
            PRIMARY KEY (phone, digest))
        """,
        "CREATE INDEX own_addresses_by_age ON own_addresses (signed_in_at)",
        // 1: of a session from one of the phone's own addresses.
        "ALTER TABLE code_sessions ADD COLUMN is_own BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE code_sends ADD COLUMN is_own BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE code_tries ADD COLUMN is_own BIGINT NOT NULL DEFAULT 0",
        // What an SMS to a phone without an account counts for; NULL otherwise. `address` is a digest.
        "ALTER TABLE code_sends ADD COLUMN prefix TEXT",
        "ALTER TABLE code_sends ADD COLUMN address TEXT",
        // `EmailRefusals`: times, separated by commas.
        "ALTER TABLE customers ADD COLUMN email_refusals TEXT",
    ]

    /// Version 20, too: numbers with trunk prefix get the form in which they are compared now. An account whose new number another account
    /// has keeps the old one, with which nobody can sign in any more, and is listed in `customer_duplicates`.
    static let canonicalPhones = [
        "CREATE TABLE customer_duplicates (id BIGINT NOT NULL PRIMARY KEY, phone TEXT NOT NULL)",
        "CREATE INDEX customer_duplicates_by_phone ON customer_duplicates (phone)",
        "INSERT INTO customer_duplicates (id, phone) SELECT id, \(canonicalPhone) FROM customers WHERE \(hasTrunkPrefix)",
        // Of several accounts with the same new number, the oldest gets it.
        """
        UPDATE customers SET phone = (SELECT other.phone FROM customer_duplicates AS other WHERE other.id = customers.id)
            WHERE id IN (SELECT MIN(id) FROM customer_duplicates
            WHERE phone NOT IN (SELECT phone FROM customers) GROUP BY phone)
        """,
        """
        DELETE FROM customer_duplicates WHERE id IN (SELECT other.id FROM customer_duplicates AS other
            JOIN customers ON customers.id = other.id AND customers.phone = other.phone)
        """,
        "UPDATE code_sessions SET phone = \(canonicalPhone) WHERE \(hasTrunkPrefix)",
        "UPDATE code_sends SET phone = \(canonicalPhone) WHERE \(hasTrunkPrefix)",
        "UPDATE code_tries SET phone = \(canonicalPhone) WHERE \(hasTrunkPrefix)",
    ]

    // As `NumberingPlan` of OneTimeCodes had them at that version.

    /// The length of a number up to the end of its calling code.
    private static let codeEnd = """
        CASE WHEN SUBSTR(phone, 2, 1) IN ('1', '7') THEN 2 WHEN SUBSTR(phone, 2, 2) IN ('20', '27', '30', '31', '32', '33', \
        '34', '36', '39', '40', '41', '43', '44', '45', '46', '47', '48', '49', '51', '52', '53', '54', '55', '56', '57', \
        '58', '60', '61', '62', '63', '64', '65', '66', '81', '82', '84', '86', '90', '91', '92', '93', '94', '95', '98') \
        THEN 3 ELSE 4 END
        """
    private static let hasTrunkPrefix = """
        SUBSTR(phone, \(codeEnd) + 1, 1) = '0' AND SUBSTR(phone, 2, 2) <> '39' \
        AND SUBSTR(phone, 2, 3) NOT IN ('225', '226', '229', '241', '242', '378', '881', '992')
        """
    private static let canonicalPhone = "SUBSTR(phone, 1, \(codeEnd)) || LTRIM(SUBSTR(phone, \(codeEnd) + 1), '0')"
}
