import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { millis } from "palimpsest/internal/schema/brand";
import { openDream } from "./open-dream.ts";

/**
 * A process that dreams when it is told to: `node dream-racer.ts <folder> <name>`. Each line of its input is a number of
 * days; the clock stands there, so that a dream is due each time. Prints how it went.
 */
const [, , folder = "", name = ""] = process.argv;
let days = 0;
const start = Date.UTC(2026, 0, 1);
const now = () => millis(start + days * 25 * 60 * 60_000);
const { dream } = await openDream({ folder, deps: { now, uuid: randomUUID }, line: () => `Dream ${days} of ${name}.` });
process.stdout.write("ready\n");
for await (const line of createInterface({ input: process.stdin })) {
  days = Number(line);
  const outcome = await dream.run({ mode: "commit" });
  process.stdout.write(`${days} ${outcome.kind === "closed" ? outcome.gate : outcome.kind}\n`);
}
