"""Certificates for the loopback address."""

import subprocess
from pathlib import Path


def make(directory: Path, *names: str, days: int = 2) -> dict[str, str]:
    """Makes a self-signed certificate for localhost or `names`, and its key: the files that
    `server.tls` names.
    """
    directory.mkdir(parents=True, exist_ok=True)
    files = {"certificate": str(directory / "certificate.pem"), "key": str(directory / "key.pem")}
    alternatives = ",".join(f"DNS:{name}" for name in names or ["localhost"])
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-noenc", "-days", str(days), "-subj", "/CN=localhost", "-addext",
         f"subjectAltName={alternatives},IP:127.0.0.1", "-keyout", files["key"], "-out",
         files["certificate"]],
        check=True, capture_output=True)
    return files
