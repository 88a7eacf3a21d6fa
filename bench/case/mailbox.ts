import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type MailPost, openFilePost, openRedisPost } from "../mail-post.ts";
import { type BenchCase, type Figure, median } from "../measure.ts";
import { type RedisServer, startRedis } from "../redis.ts";

const batches = 30;
/** Below the limit of unread messages of one sender. */
const batchSize = 40;
const roundTrips = 300;
/** Times Redis. A message takes a lock, a file and some looks instead of one request; what it may not do is grow. */
const plainLimit = 40;
const syncedLimit = 8;
const latencyLimit = 20;
const text = "A finding of two or three sentences, as agents send them to each other. ".repeat(7);

/**
 * Messages between agents through files, beside Redis streams on the same machine: what a broker gives. Redis is used if
 * `redis-server` is installed (Debian's package), over a Unix socket, with its append-only file; the two take turns.
 */
export const mailboxCase: BenchCase = {
  name: "mailbox",
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), "bench-mailbox-"));
    const servers = { everysec: await startRedis(folder, "everysec"), always: await startRedis(folder, "always") };
    try {
      return [
        ...(await compareThroughput({ folder: join(folder, "plain"), durability: "never", redis: servers.everysec })),
        ...(await compareThroughput({ folder: join(folder, "synced"), durability: "always", redis: servers.always })),
        await compareLatency(join(folder, "latency"), servers.everysec),
      ];
    } finally {
      for (const server of Object.values(servers)) await server?.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

interface ThroughputOptions {
  readonly folder: string;
  readonly durability: "never" | "always";
  readonly redis: RedisServer | undefined;
}

async function compareThroughput({ folder, durability, redis }: ThroughputOptions): Promise<readonly Figure[]> {
  const sync = durability === "always" ? "each message synced to disk" : "nothing synced (Redis: every second)";
  const limit = durability === "always" ? syncedLimit : plainLimit;
  const files = await openFilePost({ folder, name: "own", durability });
  const stream = redis === undefined ? undefined : await openRedisPost({ path: redis.path, name: "own" });
  const ours: BatchTimes[] = [];
  const theirs: BatchTimes[] = [];
  for (let batch = 0; batch < batches; batch += 1) {
    ours.push(await timeBatch(files));
    if (stream !== undefined) theirs.push(await timeBatch(stream));
  }
  stream?.close();
  const own = medians(ours);
  const other = medians(theirs);
  const detail =
    redis === undefined
      ? "no redis-server here"
      : `Redis ${redis.version}: ${formatMicros(other.sendMs)} to send, ${rate(other)} a second`;
  const measured = `${formatMicros(own.sendMs)} to send one, ${rate(own)} a second sent, read and acknowledged in batches of ${batchSize}`;
  return [
    { name: `sending a message, ${sync}`, ...ratio(own.sendMs, other.sendMs), limit, detail: `${measured}; ${detail}` },
    {
      name: `sending and reading it, ${sync}`,
      ...ratio(own.wholeMs, other.wholeMs),
      limit,
      detail: `${measured}; ${detail}`,
    },
  ];
}

interface BatchTimes {
  /** For one message. */
  readonly sendMs: number;
  readonly wholeMs: number;
}

/** A sender and a receiver in one process, one message after the other. */
async function timeBatch(post: MailPost): Promise<BatchTimes> {
  const start = performance.now();
  for (let n = 0; n < batchSize; n += 1) await post.send("own", text);
  const sent = performance.now();
  let received = 0;
  while (received < batchSize) received += await post.receive();
  return { sendMs: (sent - start) / batchSize, wholeMs: (performance.now() - start) / batchSize };
}

const medians = (times: readonly BatchTimes[]): BatchTimes => ({
  sendMs: median(times.map(({ sendMs }) => sendMs)),
  wholeMs: median(times.map(({ wholeMs }) => wholeMs)),
});

async function compareLatency(folder: string, redis: RedisServer | undefined): Promise<Figure> {
  const files = await openFilePost({ folder, name: "ping", durability: "never" });
  const own = await timeRoundTrips(files, ["files", folder]);
  const stream = redis === undefined ? undefined : await openRedisPost({ path: redis.path, name: "ping" });
  const other = stream === undefined ? NaN : await timeRoundTrips(stream, ["redis", redis?.path ?? ""]);
  stream?.close();
  const theirs =
    redis === undefined ? "no redis-server here" : `Redis streams with a blocking read: ${formatMicros(other)}`;
  return {
    name: "from a send to the receiver in another process",
    ...ratio(own, other),
    limit: latencyLimit,
    detail: `half of a round trip between two processes that wait, median of ${roundTrips}: ${formatMicros(own)}; ${theirs}`,
  };
}

/** Half of the median round trip. */
async function timeRoundTrips(post: MailPost, args: readonly string[]): Promise<number> {
  const script = resolve(import.meta.dirname, "mailbox-once.ts");
  const child = spawn(process.execPath, ["--conditions=@palimpsest/source", script, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    await once(child.stdout, "data");
    const times: number[] = [];
    for (let trip = 0; trip < roundTrips; trip += 1) {
      const start = performance.now();
      await post.send("pong", text);
      await post.receive(async () => void times.push((performance.now() - start) / 2));
    }
    return median(times);
  } finally {
    child.kill("SIGKILL");
  }
}

/** Without a peer the time itself, in milliseconds. */
const ratio = (own: number, other: number): Pick<Figure, "value" | "unit"> =>
  Number.isNaN(other) ? { value: own, unit: "ms" } : { value: own / other, unit: "× Redis streams" };

const formatMicros = (ms: number): string => `${Math.round(ms * 1000)} µs`;
const rate = ({ wholeMs }: BatchTimes): number => Math.round(1000 / wholeMs);
