import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { runScript } from "./command-line.ts";
import { writeLarge, writeSessions } from "./large-log.ts";
import { newProject } from "./project.ts";

export const rssBytesMax = 256 * 2 ** 20;

interface Opened {
  readonly messages: number;
  readonly bytesRead: number;
  readonly rssBytes: number;
}

/** Opens logs of these sizes, each in a process of its own. Memory stays bounded, and every opening reads the same. */
export async function expectOpensAlike(origin: "ours" | "foreign", sizes: readonly number[]): Promise<void> {
  const { home, folder } = await newProject();
  const opened: Opened[] = [];
  for (const [at, bytes] of sizes.entries()) {
    const id = `large-${at}`;
    const path = await writeLarge({ folder, id, bytes, origin });
    const args = origin === "ours" ? ["resume", folder, id] : ["read", path];
    opened.push(await runScript<Opened>({ home }, "open-large.ts", ...args));
    await rm(path);
  }
  const [first] = opened;
  if (first === undefined) throw new Error("no sizes");
  for (const { messages, bytesRead, rssBytes } of opened) {
    expect(rssBytes).toBeLessThan(rssBytesMax);
    expect({ messages, bytesRead }).toEqual({ messages: first.messages, bytesRead: first.bytesRead });
  }
  expect(first.messages).toBeGreaterThan(100);
  expect(first.bytesRead).toBeLessThan(4 * 2 ** 20);
}

interface Listed {
  readonly rows: number;
  readonly titles: number;
  readonly first: string;
  readonly bytesRead: number;
  readonly rssBytes: number;
}

/** Lists this many sessions of each length: bounded memory, and the same bytes read for short and long ones. */
export async function expectListsAlike(count: number, lengths: readonly number[]): Promise<void> {
  const { home } = await newProject();
  const listed: Listed[] = [];
  for (const bytesEach of lengths) {
    const folder = join(home, "projects", `of-${bytesEach}`);
    await writeSessions({ folder, count, bytesEach });
    listed.push(await runScript<Listed>({ home }, "list-sessions.ts", folder));
    // The second time the index answers.
    const again = await runScript<Listed>({ home }, "list-sessions.ts", folder);
    expect(again).toMatchObject({ rows: count, titles: count });
    expect(again.bytesRead).toBeLessThan(count * 2_000);
    await rm(folder, { recursive: true });
  }
  for (const { rssBytes, ...rest } of listed) {
    expect(rssBytes).toBeLessThan(rssBytesMax);
    expect(rest).toEqual({ rows: count, titles: count, first: "session-00000", bytesRead: listed[0]?.bytesRead });
    expect(rest.bytesRead).toBeLessThanOrEqual(count * 2 * 64 * 1024);
  }
}
