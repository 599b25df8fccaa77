"""Session cookies as NextAuth.js 4 (v4) and Auth.js 5 (v5) make them: JWEs (RFC 7516) by the package `cryptography`."""

import base64
import hashlib
import hmac
import json
import os
import time

from cryptography.hazmat.primitives import hashes, padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

GCM, CBC = "A256GCM", "A256CBC-HS512"


def session_claims(role="ADMIN", **more) -> dict:
    """What a dashboard stores of a user. None leaves a claim out."""
    now = int(time.time())
    claims = {"sub": "u7", "name": "Ada", "email": "ada@example.com", "role": role, "iat": now,
              "exp": now + 3600} | more
    return {name: value for name, value in claims.items() if value is not None}


def key(scheme: str, secret: str, name: str, size: int) -> bytes:
    salt, info = {"v4": ("", "NextAuth.js Generated Encryption Key"),
                  "v5": (name, f"Auth.js Generated Encryption Key ({name})")}[scheme]
    return HKDF(hashes.SHA256(), size, salt.encode(), info.encode()).derive(secret.encode())


def session_cookie(claims, scheme: str, secret: str, name: str, cipher: str = GCM,
                   header: dict | None = None) -> str:
    """The cookie's value. `claims` may be the bytes of any content."""
    head = base64url(json.dumps({"alg": "dir", "enc": cipher} | (header or {})).encode()).encode()
    content = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    encrypt = encrypt_gcm if cipher == GCM else encrypt_cbc
    vector, text, tag = encrypt(key(scheme, secret, name, 32 if cipher == GCM else 64), content, head)
    return ".".join([head.decode(), "", *map(base64url, (vector, text, tag))])


def encrypt_gcm(key: bytes, content: bytes, head: bytes) -> tuple[bytes, bytes, bytes]:
    vector = os.urandom(12)
    sealed = AESGCM(key).encrypt(vector, content, head)
    return vector, sealed[:-16], sealed[-16:]


def encrypt_cbc(key: bytes, content: bytes, head: bytes) -> tuple[bytes, bytes, bytes]:
    """RFC 7518 section 5.2.5."""
    vector, pad = os.urandom(16), padding.PKCS7(128).padder()
    encryptor = Cipher(algorithms.AES(key[32:]), modes.CBC(vector)).encryptor()
    text = encryptor.update(pad.update(content) + pad.finalize()) + encryptor.finalize()
    covered = head + vector + text + (len(head) * 8).to_bytes(8, "big")
    return vector, text, hmac.digest(key[:32], covered, hashlib.sha512)[:32]


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
