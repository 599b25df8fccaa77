"""Certificates of the loopback."""

import subprocess
from pathlib import Path


def make(directory: Path) -> dict[str, str]:
    """One that is signed by itself, and its key: what `server.tls` names, and who trusts it."""
    files = {"certificate": str(directory / "certificate.pem"), "key": str(directory / "key.pem")}
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", files["key"], "-out", files["certificate"]], check=True, capture_output=True)
    return files
