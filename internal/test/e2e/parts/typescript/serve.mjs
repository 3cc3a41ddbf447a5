// Runs the reference server "server-everything" over HTTP, on a free port of 127.0.0.1 or on that of $PORT at all addresses, and
// prints its address; its log goes to standard error. MODULES is the folder of node_modules (hack/get-mcp.sh).
import net from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

console.log = console.error;
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (_, ...rest) {
  this.once("listening", () => {
    const { address, port } = this.address();
    process.stdout.write(`${address}:${port}\n`);
  });
  return listen.call(this, process.env.PORT ? { port: Number(process.env.PORT) } : { port: 0, host: "127.0.0.1" },
    ...rest.filter((r) => typeof r === "function"));
};
const server = "node_modules/@modelcontextprotocol/server-everything/dist/transports/streamableHttp.js";
await import(pathToFileURL(join(process.env.MODULES, server)).href);
