import process from "node:process";
import { z } from "zod";
import type { ProcessUsage } from "./child.ts";

const message = z.object({ kind: z.string() }).loose();

/** The side of a bench's process: says `first`, then answers the parent's messages until it is to stop. */
export function answerParent({
  first,
  answer = () => Promise.resolve({}),
  close,
}: {
  readonly first: object;
  readonly answer?: (message: object) => Promise<object>;
  readonly close: () => Promise<void>;
}): void {
  process.on("message", (sent) => {
    const { kind } = message.parse(sent);
    if (kind === "usage") return void process.send?.(readUsage());
    if (kind === "stop") return void close().then(() => process.exit());
    answer(message.parse(sent)).then((said) => process.send?.(said), fail);
  });
  process.send?.(first);
}

function readUsage(): ProcessUsage {
  const { user, system } = process.cpuUsage();
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { cpuSeconds: (user + system) / 1e6, rssBytes: rss, heapBytes: heapUsed };
}

function fail(error: unknown): void {
  console.error(error);
  process.exit(1);
}
