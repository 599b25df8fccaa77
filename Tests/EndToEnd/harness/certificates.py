"""Certificates for the loopback address."""

import subprocess
from pathlib import Path


def make(directory: Path) -> dict[str, str]:
    """Makes a self-signed certificate and its key: the files that `server.tls` names."""
    files = {"certificate": str(directory / "certificate.pem"), "key": str(directory / "key.pem")}
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-noenc", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", files["key"], "-out",
         files["certificate"]],
        check=True, capture_output=True)
    return files
