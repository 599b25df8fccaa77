"""JSON Web Tokens, encoded by hand so that tests can also make invalid ones."""

import base64
import datetime
import hashlib
import hmac
import json
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

SECRET = "a secret that only tests use, and long enough"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def claims(role: str = "driver", subject: str = "42", ttl: float = 3600, **more) -> dict:
    """Returns the claims of a token; None removes a claim."""
    payload = {"sub": subject, "role": role, "exp": int(time.time() + ttl)} | more
    return {name: value for name, value in payload.items() if value is not None}


def encode(part: dict | str) -> str:
    """Encodes a part of a token. A string is used as it is: for duplicate members."""
    return base64url((part if isinstance(part, str) else json.dumps(part)).encode())


class Signer:
    """Signs tokens with a key. `header` replaces members of the header; None removes one."""

    algorithm: str

    def sign(self, text: bytes) -> bytes:
        raise NotImplementedError

    def token(self, payload: dict | str, kid: str | None = None,
              header: dict | str | None = None) -> str:
        if not isinstance(header, str):
            whole = {"alg": self.algorithm, "typ": "JWT", "kid": kid} | (header or {})
            header = {name: value for name, value in whole.items() if value is not None}
        text = f"{encode(header)}.{encode(payload)}"
        return f"{text}.{base64url(self.sign(text.encode()))}"


class HS256(Signer):
    algorithm = "HS256"

    def __init__(self, secret: str | bytes = SECRET):
        self.secret = secret.encode() if isinstance(secret, str) else secret

    def sign(self, text: bytes) -> bytes:
        return hmac.new(self.secret, text, hashlib.sha256).digest()


class Unsigned(Signer):
    """Signs nothing: `alg: none`."""

    algorithm = "none"

    def sign(self, text: bytes) -> bytes:
        return b""


def number(value: int, length: int | None = None) -> str:
    return base64url(value.to_bytes(length or (value.bit_length() + 7) // 8, "big"))


class KeyPair(Signer):
    @property
    def pem(self) -> str:
        return self.key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


class RS256(KeyPair):
    algorithm = "RS256"

    def __init__(self, bits: int = 2048):
        self.key = rsa.generate_private_key(65537, bits)

    def sign(self, text: bytes) -> bytes:
        return self.key.sign(text, padding.PKCS1v15(), hashes.SHA256())

    def jwk(self, kid: str) -> dict:
        numbers = self.key.public_key().public_numbers()
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": number(numbers.n),
                "e": number(numbers.e)}

    def certificate(self) -> str:
        """Returns a self-signed certificate, as Firebase publishes its keys."""
        name = x509.Name(
            [x509.NameAttribute(x509.NameOID.COMMON_NAME,
                                "securetoken.system.gserviceaccount.com")])
        now = datetime.datetime.now(datetime.timezone.utc)
        day = datetime.timedelta(days=1)
        builder = (x509.CertificateBuilder().subject_name(name).issuer_name(name)
                   .public_key(self.key.public_key()).serial_number(1)
                   .not_valid_before(now - day).not_valid_after(now + day))
        return builder.sign(self.key,
                            hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


class ES256(KeyPair):
    algorithm = "ES256"

    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())

    def sign(self, text: bytes) -> bytes:
        """Returns two integers of 32 bytes, as RFC 7515 requires; `der` returns OpenSSL's format.
        """
        first, second = decode_dss_signature(self.der(text))
        return first.to_bytes(32, "big") + second.to_bytes(32, "big")

    def der(self, text: bytes) -> bytes:
        return self.key.sign(text, ec.ECDSA(hashes.SHA256()))

    def jwk(self, kid: str) -> dict:
        numbers = self.key.public_key().public_numbers()
        return {"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": kid,
                "x": number(numbers.x, 32), "y": number(numbers.y, 32)}


def firebase_claims(project: str, subject: str = "uid-1", **more) -> dict:
    """Returns the claims of a Firebase ID token; None removes a claim."""
    now = int(time.time())
    payload = {"iss": f"https://securetoken.google.com/{project}", "aud": project,
               "auth_time": now - 10, "user_id": subject, "sub": subject, "iat": now - 10,
               "exp": now + 3600, "firebase": {"identities": {},
                                               "sign_in_provider": "phone"}} | more
    return {name: value for name, value in payload.items() if value is not None}
