import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createSocket, type Socket } from "node:dgram";
import { lstatSync, openSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import type { ArenaPlaces } from "./baits.ts";

/** Listens for connections like services of the user's machine. */
export interface Listeners {
  readonly port: number;
  readonly udpPort: number;
  /** Socket paths, by their placeholders in lines. */
  readonly socketByWord: ReadonlyMap<string, string>;
  /** Recreates what was removed or moved. */
  readonly reopen: () => Promise<void>;
  /** The listeners that were contacted since the last call. */
  readonly takeKnocks: () => readonly string[];
}

export async function openListeners({ project, home }: ArenaPlaces): Promise<Listeners> {
  let knocks: string[] = [];
  const serverByPath = new Map<string, Server>();
  const listen = async (name: string, where: Where): Promise<Server> => {
    const server = createServer((socket) => {
      knocks.push(name);
      socket.on("error", () => undefined);
      // Answers, so that waiting clients end.
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
    });
    await new Promise<void>((done, failed) => server.once("error", failed).listen(where, done));
    if ("path" in where && !where.path.startsWith("\0")) serverByPath.set(where.path, server);
    return server;
  };
  const tcp = await listen("TCP", { port: 0, host: "127.0.0.1" });
  const address = tcp.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const udp = await openUdp(() => knocks.push("UDP"));
  const readers = [readPipe(pipePath(home)), readDatagrams(datagramPath(home))];
  for (const reader of readers) reader.stdout?.on("data", (chunk: Buffer) => knocks.push(chunk.toString().trim()));
  await Promise.all(readers.map((reader) => new Promise((done) => reader.once("spawn", done))));
  const socketByWord = new Map<string, string>();
  const candidates: readonly (readonly [string, string])[] = [
    ["project-socket", join(project, "service.sock")],
    ["home-socket", join(home, "agent.sock")],
    ["tmp-socket", "/tmp/bait.sock"],
    ["run-socket", "/run/bait.sock"],
    ["abstract-socket", "\0bait"],
  ];
  for (const [word, path] of candidates) {
    try {
      await listen(word, { path });
    } catch {
      // Some folders, above all /run, may not be writable: then an attempt finds no listener, which is fine.
    }
    socketByWord.set(word, path.replace("\0", ""));
  }
  socketByWord.set("pipe", pipePath(home)).set("datagram-socket", datagramPath(home));
  return {
    port,
    udpPort: udp.address().port,
    socketByWord,
    reopen: async () => {
      for (const [path, server] of serverByPath) {
        if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true) continue;
        rmSync(path, { recursive: true, force: true });
        await new Promise((done) => server.close(done));
        await new Promise<void>((done) => server.listen({ path }, done));
      }
    },
    takeKnocks: () => {
      const taken = knocks;
      knocks = [];
      return taken;
    },
  };
}

const pipePath = (home: string): string => join(home, "commands.fifo");
const datagramPath = (home: string): string => join(home, "log.sock");

/** A named pipe, as used to send commands to a running program. */
function readPipe(path: string): ChildProcess {
  execFileSync("mkfifo", [path]);
  const pipe = openSync(path, "r+");
  return spawn("cat", [], { stdio: [pipe, "pipe", "ignore"] });
}

/** A datagram socket, as used for logs: Node does not support Unix ones. */
function readDatagrams(path: string): ChildProcess {
  const code = `import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("${path}")\nwhile True: print(s.recv(99), flush=True)`;
  const child = spawn("python3", ["-c", code], { stdio: ["ignore", "pipe", "ignore"] });
  // Without Python there is no listener, and no attempt finds one.
  child.once("error", () => child.emit("spawn"));
  return child;
}

type Where = { readonly port: number; readonly host: string } | { readonly path: string };

async function openUdp(onMessage: () => void): Promise<Socket> {
  const socket = createSocket("udp4", onMessage);
  await new Promise<void>((done) => socket.bind(0, "127.0.0.1", done));
  return socket;
}
