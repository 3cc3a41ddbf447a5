"""A client of MCP, made with the Python SDK in its default mode, that does what "mcp call URL" of examples/agents does: it makes a session, and does
what each line of its input says. CA, CERT, KEY and ADDRESS mean the same."""

import asyncio
import json
import os
import ssl
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


class Elsewhere(httpx2.AsyncHTTPTransport):
    """Connects to ADDRESS, whatever the URL says."""

    async def handle_async_request(self, request):
        if address := os.environ.get("ADDRESS"):
            host, _, port = address.rpartition(":")
            request.extensions = {**request.extensions, "sni_hostname": request.url.host}
            request.url = request.url.copy_with(host=host, port=int(port))
        return await super().handle_async_request(request)


def transport():
    context = ssl.create_default_context(cafile=os.environ.get("CA"))
    if os.environ.get("CERT"):
        context.load_cert_chain(os.environ["CERT"], os.environ["KEY"])
    return Elsewhere(verify=context)


async def do(client, line):
    if line == "list":
        return " ".join(sorted(t.name for t in (await client.list_tools()).tools))
    _, name, arguments = line.split(" ", 2)
    result = await client.call_tool(name, json.loads(arguments))
    return " ".join(c.text for c in result.content)


async def main():
    async with httpx2.AsyncClient(transport=transport(), timeout=60) as http:
        async with Client(streamable_http_client(sys.argv[1], http_client=http)) as client:
            for line in sys.stdin.read().splitlines():
                try:
                    print(" ".join((await do(client, line)).split()), flush=True)  # in one line
                except Exception as e:  # what a tool or the gateway answers
                    print(f"error: {e}", flush=True)


asyncio.run(main())
