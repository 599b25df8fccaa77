"""A tile server with tiles of one colour."""

import re
import struct
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SIDE = 256
PATH = re.compile(r"/(\d+)/(\d+)/(\d+)\.png")


def png(red: int, green: int, blue: int) -> bytes:
    """A square of one colour."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack("!I", len(data)) + body + struct.pack("!I", zlib.crc32(body))
    rows = (b"\0" + bytes((red, green, blue)) * SIDE) * SIDE
    head = struct.pack("!IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class TileServer:
    """`requested` are the tiles (z, x, y) that were asked for."""

    def __init__(self, red: int, green: int, blue: int):
        tile, self.requested = png(red, green, blue), set()
        requested = self.requested

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                place = PATH.fullmatch(self.path)
                if place:
                    requested.add(tuple(map(int, place.groups())))
                self.send_response(200 if place else 404)
                self.send_header("Content-Type", "image/png")
                self.send_header("Content-Length", str(len(tile) if place else 0))
                self.end_headers()
                self.wfile.write(tile if place else b"")

            def log_message(self, *_) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    @property
    def template(self) -> str:
        return self.origin + "/{z}/{x}/{y}.png"

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
