"""A QUIC server that sends as many bytes as its client asks for, and the client, with aioquic.

A client writes the number of bytes as eight bytes into a stream, and the server answers with so many zeros.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import ssl
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PROTOCOLS = ["transfer"]
FAREWELL_S = 1e-3
"""Time for the client's last packet, which closes the connection."""


def configuration(*, is_client: bool) -> QuicConfiguration:
    """The settings of one end; ``CC`` names the congestion control, reno or cubic."""
    found = QuicConfiguration(
        is_client=is_client, alpn_protocols=PROTOCOLS, congestion_control_algorithm=os.environ.get("CC", "cubic")
    )
    found.max_data = found.max_stream_data = 16 << 20
    return found


def certificate() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """A certificate of its own, valid now, with its key."""
    key, name, now = ec.generate_private_key(ec.SECP256R1()), x509.Name([]), datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - datetime.timedelta(hours=1))
    return builder.not_valid_after(now + datetime.timedelta(hours=1)).sign(key, hashes.SHA256()), key


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one stream."""
    writer.write(bytes(int.from_bytes(await reader.readexactly(8))))
    writer.write_eof()


def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Begin to answer a stream."""
    handle.tasks = [*getattr(handle, "tasks", []), asyncio.ensure_future(answer(reader, writer))]


async def run_server(host: str, port: int) -> None:
    """Serve all clients."""
    settings = configuration(is_client=False)
    settings.certificate, settings.private_key = certificate()
    await serve(host, port, configuration=settings, stream_handler=handle)
    await asyncio.Future()


async def run_client(host: str, port: int, wanted: int) -> None:
    """Fetch bytes from a server."""
    settings = configuration(is_client=True)
    settings.verify_mode = ssl.CERT_NONE
    # Not aioquic's connect, whose socket is one of IPv6: a guest has none.
    _, connection = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: QuicConnectionProtocol(QuicConnection(configuration=settings)), local_addr=("0.0.0.0", 0)
    )
    connection.connect((host, port))
    await connection.wait_connected()
    reader, writer = await connection.create_stream()
    writer.write(wanted.to_bytes(8))
    writer.write_eof()
    got = 0
    while data := await reader.read(1 << 16):
        got += len(data)
    connection.close()
    await asyncio.sleep(FAREWELL_S)
    print(f"got {got} bytes", flush=True)
    sys.exit(got != wanted)


if __name__ == "__main__":
    role, address, *rest = sys.argv[1:]
    ip, _, number = address.rpartition(":")
    asyncio.run(run_server(ip, int(number)) if role == "serve" else run_client(ip, int(number), int(rest[0])))
