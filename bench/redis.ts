import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

export type RedisReply = string | number | null | readonly RedisReply[];

/** One command at a time, over a socket. */
export class RedisClient {
  readonly #socket: Socket;
  #data = Buffer.alloc(0);
  #onData: (() => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#data = Buffer.concat([this.#data, chunk]);
      this.#onData?.();
    });
  }

  static async open(path: string): Promise<RedisClient> {
    const socket = connect(path);
    await once(socket, "connect");
    return new RedisClient(socket);
  }

  async ask(...words: readonly string[]): Promise<RedisReply> {
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    this.#socket.write(`*${words.length}\r\n${parts.join("")}`);
    for (;;) {
      const read = parseReply(this.#data, 0);
      if (read !== undefined) {
        this.#data = this.#data.subarray(read.end);
        return read.reply;
      }
      await new Promise<void>((resolve) => (this.#onData = resolve));
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** Undefined if it is not whole yet. */
function parseReply(data: Buffer, start: number): { readonly reply: RedisReply; readonly end: number } | undefined {
  const lineEnd = data.indexOf("\r\n", start);
  if (lineEnd === -1) return undefined;
  const line = data.toString("utf8", start + 1, lineEnd);
  const end = lineEnd + 2;
  switch (String.fromCodePoint(data[start] ?? 0)) {
    case "+":
      return { reply: line, end };
    case ":":
      return { reply: Number(line), end };
    case "$": {
      const length = Number(line);
      if (length === -1) return { reply: null, end };
      return data.length < end + length + 2
        ? undefined
        : { reply: data.toString("utf8", end, end + length), end: end + length + 2 };
    }
    case "*":
      return parseList(data, { end, count: Number(line) });
    default:
      throw new Error(`redis: ${line}`);
  }
}

function parseList(data: Buffer, { end, count }: { end: number; count: number }): ReturnType<typeof parseReply> {
  if (count === -1) return { reply: null, end };
  const reply: RedisReply[] = [];
  let at = end;
  for (let item = 0; item < count; item += 1) {
    const read = parseReply(data, at);
    if (read === undefined) return undefined;
    reply.push(read.reply);
    at = read.end;
  }
  return { reply, end: at };
}

export interface RedisServer {
  /** Of its socket. */
  readonly path: string;
  readonly version: string;
  close(): Promise<void>;
}

/** With its log of commands on, as a broker that must not lose messages has it. Undefined if it is not installed. */
export async function startRedis(folder: string, sync: "everysec" | "always"): Promise<RedisServer | undefined> {
  const path = join(folder, `redis-${sync}.sock`);
  const args = ["--port", "0", "--unixsocket", path, "--dir", folder, "--save", "", "--appendonly", "yes"];
  const names = ["--appenddirname", `redis-${sync}`, "--appendfsync", sync];
  const child: ChildProcess = spawn("redis-server", [...args, ...names], { stdio: "ignore" });
  const isMissing = await Promise.race([once(child, "spawn").then(() => false), once(child, "error").then(() => true)]);
  if (isMissing) return undefined;
  while (!existsSync(path)) await wait(10);
  const client = await RedisClient.open(path);
  const info = String(await client.ask("INFO", "server"));
  client.close();
  return {
    path,
    version: /redis_version:(\S+)/.exec(info)?.[1] ?? "unknown",
    close: async () => {
      const closed = once(child, "close");
      child.kill("SIGTERM");
      await closed;
    },
  };
}
