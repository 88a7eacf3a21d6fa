import { type ChildProcess, spawn } from "node:child_process";
import { fstatSync } from "node:fs";
import { createServer } from "node:net";
import { constants } from "node:os";
import type { Duplex } from "node:stream";
import { Carrier, proxyConnectionsMax, bridgeEnd } from "./carrier.ts";
import { proxyEnvironment, restoreNodeVariables } from "./proxy-environment.ts";

/*
 * Runs inside the sandbox: node bridge-script.js FOLDER PROGRAM [ARGUMENT…]. Streams and descriptor 3 are the program's:
 * this one reads and writes none of them, but for a line on the error stream where it can't do its work.
 */
const [, , folder = "", program = "", ...args] = process.argv;
// Checked before anything is opened here.
const third = isGiven(3) ? "inherit" : "ignore";

const carrier = new Carrier(bridgeEnd(folder), { connectionsMax: proxyConnectionsMax, whenUnread: "go-on" });
const server = createServer({ allowHalfOpen: true }, (inside) => {
  const proxy = carrier.open();
  if (proxy === undefined) inside.destroy();
  else pair(inside, proxy);
});
server.once("error", (error) => giveUp(`can't listen: ${error.message}`, 126));
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address === null || typeof address !== "object") throw new Error("the bridge listens on no port");
  startProgram(`http://127.0.0.1:${address.port}`);
});

function pair(inside: Duplex, proxy: Duplex): void {
  for (const [from, to] of [
    [inside, proxy],
    [proxy, inside],
  ] as const) {
    from.pipe(to);
    from.on("error", () => to.destroy());
    from.once("close", () => to.destroy());
  }
}

function startProgram(proxyUrl: string): void {
  let child: ChildProcess | undefined;
  const own = Object.fromEntries(Object.entries(process.env).flatMap(([name, value = ""]) => [[name, value]]));
  // Registered before the program starts: from its first moment on, signals are meant for it.
  for (const signal of handedOn) process.on(signal, () => handOn(child?.pid, signal));
  child = spawn(program, args, {
    env: proxyEnvironment(proxyUrl, restoreNodeVariables(own)),
    stdio: ["inherit", "inherit", "inherit", third],
    // Its own process group: a signal to this process's group then reaches the program once, not twice.
    detached: true,
  });
  child.once("error", (error) => giveUp(`can't start ${program}: ${error.message}`, 127));
  child.once("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 0);
    for (const one of handedOn) process.removeAllListeners(one);
    process.kill(process.pid, signal);
    // The exit code that a shell would report, in case the signal does not end this process.
    setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
  });
}

const handedOn = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGALRM"] as const;

function handOn(leader: number | undefined, signal: NodeJS.Signals): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, signal);
  } catch {
    // The program has just ended, and so will this process.
  }
}

/** A free number is taken by this process for itself: such a descriptor is neither a pipe nor a file. */
function isGiven(descriptor: number): boolean {
  try {
    const found = fstatSync(descriptor);
    return found.isFIFO() || found.isSocket() || found.isFile() || found.isCharacterDevice();
  } catch {
    return false;
  }
}

function giveUp(why: string, code: number): never {
  process.stderr.write(`palimpsest: the network bridge ${why}\n`);
  process.exit(code);
}
