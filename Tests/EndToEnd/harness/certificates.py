"""Certificates for the loopback address."""

import subprocess
from pathlib import Path


EC = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
RSA = ["rsa:2048"]


def make(directory: Path, *names: str, days: int = 2, algorithm: list[str] | None = None) -> dict[str, str]:
    """Makes a self-signed certificate for localhost or `names`, and its key, by default `EC`: the files that
    `server.tls` names.
    """
    directory.mkdir(parents=True, exist_ok=True)
    files = {"certificate": str(directory / "certificate.pem"), "key": str(directory / "key.pem")}
    alternatives = ",".join(f"DNS:{name}" for name in names or ["localhost"])
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", *(algorithm or EC), "-noenc", "-days", str(days), "-subj", "/CN=localhost", "-addext",
         f"subjectAltName={alternatives},IP:127.0.0.1", "-keyout", files["key"], "-out",
         files["certificate"]],
        check=True, capture_output=True)
    return files
