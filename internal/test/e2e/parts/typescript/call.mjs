// A client of MCP, made with the TypeScript SDK, that does what "mcp call URL" of examples/agents does: it makes a session, and
// does what each line of its input says. CA, CERT, KEY and ADDRESS mean the same; MODULES is the folder of node_modules.
// SDK=2 is the second version of the SDK in its default mode, SDK=2-auto the same where it may choose the protocol.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.env.MODULES + "/");
const second = process.env.SDK?.startsWith("2");
const { Client } = require(second ? "@modelcontextprotocol/client" : "@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require(
  second ? "@modelcontextprotocol/client" : "@modelcontextprotocol/sdk/client/streamableHttp.js");
const { Agent, buildConnector, fetch } = require("undici");

function dispatcher() {
  const file = (name) => (process.env[name] ? readFileSync(process.env[name]) : undefined);
  const connect = buildConnector({ ca: file("CA"), cert: file("CERT"), key: file("KEY") });
  const address = process.env.ADDRESS;
  return new Agent({
    connect(options, callback) {
      if (address) {
        const at = address.lastIndexOf(":");
        options = { ...options, servername: options.hostname, hostname: address.slice(0, at), port: address.slice(at + 1) };
      }
      return connect(options, callback);
    },
  });
}

async function run(client, line) {
  if (line === "list") {
    const { tools } = await client.listTools();
    return tools.map((t) => t.name).sort().join(" ");
  }
  const [, name, args] = line.match(/^call (\S+) (.*)$/);
  const { content } = await client.callTool({ name, arguments: JSON.parse(args) });
  return content.map((c) => c.text).join(" ");
}

const agent = dispatcher();
const chooses = process.env.SDK === "2-auto" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client({ name: "agent", version: "1" }, chooses);
const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]), {
  fetch: (url, init) => fetch(url, { ...init, dispatcher: agent }),
});
await client.connect(transport);
for await (const line of createInterface({ input: process.stdin })) {
  const said = await run(client, line).catch((e) => `error: ${e.message}`);
  console.log(said.trim().replace(/\s+/g, " ")); // in one line
}
await transport.terminateSession();
await client.close();
await agent.close();
