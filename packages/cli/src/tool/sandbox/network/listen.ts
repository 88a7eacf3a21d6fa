import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf } from "../../failure.ts";
import { Carrier } from "./carrier.ts";
import { proxyConnectionsMax } from "./bridge-limits.ts";
import { pipeNames, proxyEnd } from "./pipes.ts";
import { Proxy, type ProxyDeps, proxyUser, type Refusal } from "./proxy.ts";

/** A proxy that programs of one command can reach. */
export interface OpenProxy {
  /** What was refused so far, oldest first. */
  refusals(): readonly Refusal[];
  /** Ends every connection, and takes away what is on disk. Must not reject. */
  close(): Promise<void>;
}

export type ProxyOpened<More> =
  | ({ readonly kind: "open"; readonly proxy: OpenProxy } & More)
  | { readonly kind: "failed"; readonly why: string };

/** For a sandbox with a network of its own: through pipes in a folder that nobody else can enter. */
export async function openOnPipes(deps: ProxyDeps): Promise<ProxyOpened<{ readonly folder: string }>> {
  let folder = "";
  try {
    folder = await mkdtemp(join(tmpdir(), "palimpsest-net-"));
    await makePipes(folder);
    const proxy = new Proxy(deps);
    const carrier = new Carrier(proxyEnd(folder), {
      connectionsMax: proxyConnectionsMax,
      whenUnread: "pause",
      onConnection: (connection) => proxy.accept(connection),
    });
    const close = async (): Promise<void> => {
      proxy.close();
      carrier.close();
      await removed(folder);
    };
    return { kind: "open", folder, proxy: { refusals: () => proxy.refusals(), close } };
  } catch (error) {
    if (folder !== "") await removed(folder);
    return failed(error);
  }
}

const removed = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true }).catch(() => undefined);

/** For a sandbox that shares this machine's network: on loopback, where every user can connect but knows no token. */
export async function openOnLoopback(
  deps: ProxyDeps,
): Promise<ProxyOpened<{ readonly port: number; readonly url: string }>> {
  const token = randomBytes(16).toString("hex");
  const proxy = new Proxy(deps, { token });
  const server = createServer({ allowHalfOpen: true }, (socket) => proxy.accept(socket));
  try {
    const port = await listening(server);
    const close = async (): Promise<void> => {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      proxy.close();
      await closed.promise;
    };
    const url = `http://${proxyUser}:${token}@127.0.0.1:${port}`;
    return { kind: "open", port, url, proxy: { refusals: () => proxy.refusals(), close } };
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): { readonly kind: "failed"; readonly why: string } {
  if (!(error instanceof Error) || codeOf(error) === undefined) throw error;
  return { kind: "failed", why: `the proxy can't be opened: ${error.message}` };
}

/** Node makes no named pipes. Of the system's own programs: not one that lies in a project. */
async function makePipes(folder: string): Promise<void> {
  const paths = [pipeNames.toProxy, pipeNames.toBridge].map((name) => join(folder, name));
  const child = spawn("mkfifo", ["-m", "600", ...paths], { env: { PATH: "/usr/bin:/bin" }, stdio: "ignore" });
  const ended = Promise.withResolvers<void>();
  child.once("error", ended.reject);
  child.once("exit", (code) => {
    if (code === 0) ended.resolve();
    else ended.reject(Object.assign(new Error(`mkfifo ended with ${code}`), { code: "EIO" }));
  });
  await ended.promise;
}

async function listening(server: Server): Promise<number> {
  const started = Promise.withResolvers<void>();
  server.once("error", started.reject);
  server.listen(0, "127.0.0.1", started.resolve);
  await started.promise;
  server.on("error", () => undefined);
  const address = server.address();
  if (address === null || typeof address !== "object") throw new Error("the proxy listens on no port");
  return address.port;
}
