import type { Sandbox, SandboxNetwork } from "palimpsest/internal/ports/sandbox";
import type { Net } from "../../web/get-page.ts";
import type { NetworkCommand, SessionHosts } from "./session-hosts.ts";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorCode } from "../../error-code.ts";
import { Carrier, proxyConnectionsMax, pipeNames, proxyEnd } from "./carrier.ts";
import { CommandProxy, type ProxyDeps, proxyUser, type Refusal } from "./command-proxy.ts";

export interface SessionNetworkDeps {
  readonly net: Net;
  readonly hosts: SessionHosts;
}

/** How one command reaches the network: through a proxy that is opened when it starts and closed when it has ended. */
export interface CommandNetwork {
  /** Must not reject. */
  open(system: Sandbox["system"]): Promise<OpenNetworkOutcome>;
  /** One line for each refused host, for the model. */
  notes(): readonly string[];
}

type OpenNetworkOutcome =
  | { readonly kind: "open"; readonly network: SandboxNetwork; readonly close: () => Promise<void> }
  | { readonly kind: "failed"; readonly why: string };

export function commandNetwork({ net, hosts }: SessionNetworkDeps, command: NetworkCommand): CommandNetwork {
  let proxy: OpenProxy | undefined;
  const toOutcome = (open: OpenProxy, network: SandboxNetwork): OpenNetworkOutcome => {
    proxy = open;
    return { kind: "open", network, close: () => open.close() };
  };
  return {
    open: async (system) => {
      const deps = { net, hosts: hosts.forCommand(command) };
      if (system === "bubblewrap") {
        const outcome = await openOnPipes(deps);
        if (outcome.kind === "failed") return outcome;
        return toOutcome(outcome.proxy, { kind: "proxy", way: { kind: "pipes", folder: outcome.folder } });
      }
      const outcome = await openOnLoopback(deps);
      if (outcome.kind === "failed") return outcome;
      return toOutcome(outcome.proxy, {
        kind: "proxy",
        way: { kind: "loopback", port: outcome.port, url: outcome.url },
      });
    },
    notes: () => proxy?.refusals().map(({ host, why }) => `no connection to ${host}: ${why}`) ?? [],
  };
}

/** A proxy that the programs of one command can reach. */
interface OpenProxy {
  /** Refusals so far, oldest first. */
  refusals(): readonly Refusal[];
  /** Ends every connection and removes its files. Must not reject. */
  close(): Promise<void>;
}

type OpenProxyOutcome<More> =
  | ({ readonly kind: "open"; readonly proxy: OpenProxy } & More)
  | { readonly kind: "failed"; readonly why: string };

/** For a sandbox with its own network: through pipes in a folder that no other user can enter. */
export async function openOnPipes(deps: ProxyDeps): Promise<OpenProxyOutcome<{ readonly folder: string }>> {
  let folder = "";
  try {
    folder = await mkdtemp(join(tmpdir(), "palimpsest-net-"));
    await makePipes(folder);
    const proxy = new CommandProxy(deps);
    const carrier = new Carrier(proxyEnd(folder), {
      connectionsMax: proxyConnectionsMax,
      whenUnread: "pause",
      onConnection: (connection) => proxy.accept(connection),
    });
    const close = async (): Promise<void> => {
      proxy.close();
      carrier.close();
      await removeFolder(folder);
    };
    return { kind: "open", folder, proxy: { refusals: () => proxy.refusals(), close } };
  } catch (error) {
    if (folder !== "") await removeFolder(folder);
    return proxyFailure(error);
  }
}

const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true }).catch(() => undefined);

/** For a sandbox that shares this machine's network: on loopback, where every user can connect but lacks the token. */
export async function openOnLoopback(
  deps: ProxyDeps,
): Promise<OpenProxyOutcome<{ readonly port: number; readonly url: string }>> {
  const token = randomBytes(16).toString("hex");
  const proxy = new CommandProxy(deps, { token });
  const server = createServer({ allowHalfOpen: true }, (socket) => proxy.accept(socket));
  try {
    const port = await listenOnLoopback(server);
    const close = async (): Promise<void> => {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      proxy.close();
      await closed.promise;
    };
    const url = `http://${proxyUser}:${token}@127.0.0.1:${port}`;
    return { kind: "open", port, url, proxy: { refusals: () => proxy.refusals(), close } };
  } catch (error) {
    return proxyFailure(error);
  }
}

function proxyFailure(error: unknown): { readonly kind: "failed"; readonly why: string } {
  if (!(error instanceof Error) || errorCode(error) === undefined) throw error;
  return { kind: "failed", why: `the proxy can't be opened: ${error.message}` };
}

/** Node can't create named pipes. Uses the system's mkfifo, never one from a project. */
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

async function listenOnLoopback(server: Server): Promise<number> {
  const started = Promise.withResolvers<void>();
  server.once("error", started.reject);
  server.listen(0, "127.0.0.1", started.resolve);
  await started.promise;
  server.on("error", () => undefined);
  const address = server.address();
  if (address === null || typeof address !== "object") throw new Error("the proxy listens on no port");
  return address.port;
}
