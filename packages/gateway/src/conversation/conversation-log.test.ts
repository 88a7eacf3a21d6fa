import type { ListDigests } from "../recognise/list-digests.ts";
import { lstat, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { conversationsMax } from "../recognise/limits.ts";
import { ConversationLog } from "./conversation-log.ts";
import { HistoryLog } from "./history/history-log.ts";
import { ToolUsageLog } from "./tools/tool-usage-log.ts";

const listOf = (digest: string): ListDigests => ({ messages: [], prefixDigests: [digest], replies: [] });

it("a new conversation is written at once, later lists together, and closing leaves none unwritten", async () => {
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-log-"));
  const path = join(folder, "conversations.jsonl");
  const log = await ConversationLog.open(path);
  await log.add(
    { id: "one", scope: "scope", tools: "tools" },
    { user: "local", project: undefined, client: undefined },
  );
  for (const list of ["a", "b", "c"]) log.note("one", { digests: listOf(list), tail: [`${list}-tail`] });
  await log.add(
    { id: "two", scope: "scope", tools: "tools" },
    { user: "local", project: undefined, client: undefined },
  );
  log.note("one", { digests: listOf("d"), tail: [] });
  expect((await readFile(path, "utf8")).split("\n")).toHaveLength(6);
  await log.close();
  const again = await ConversationLog.open(path);
  expect(again.index.get("one")).toMatchObject({ lists: ["a", "b", "c", "d"], tail: [] });
  await rm(folder, { recursive: true });
});

it("what can't be read is not taken for empty, and not written over", async () => {
  const path = join(await mkdtemp(join(tmpdir(), "palimpsest-log-")), "conversations.jsonl");
  // It could be replaced, but not read.
  await symlink(path, path);
  await expect(ConversationLog.open(path)).rejects.toMatchObject({ code: "ELOOP" });
  await expect(ToolUsageLog.open(path)).rejects.toMatchObject({ code: "ELOOP" });
  const histories = new HistoryLog(() => path, { bytesMax: 10 });
  await histories.append("ann", { first: "one", last: "two" });
  expect(await histories.read("ann")).toEqual([]);
  await expect(histories.remove({ user: "ann", sessions: ["one"] })).rejects.toMatchObject({ code: "ELOOP" });
  expect((await lstat(path)).isSymbolicLink()).toBe(true);
});

it("beyond the limit the conversation that was asked the longest ago is forgotten, also after a restart", async () => {
  const path = join(await mkdtemp(join(tmpdir(), "palimpsest-log-")), "conversations.jsonl");
  const facts = { user: "local", project: undefined, client: undefined };
  const lines = Array.from({ length: conversationsMax }, (_, at) =>
    JSON.stringify({ id: `c${at}`, scope: `c${at}`, tools: "", user: "local" }),
  );
  await writeFile(path, `${lines.join("\n")}\n`);
  const first = await ConversationLog.open(path);
  first.note("c0", { digests: listOf("a"), tail: [] });
  await first.close();
  const log = await ConversationLog.open(path);
  await log.add({ id: "new", scope: "new", tools: "" }, facts);
  expect(["c0", "c1", "c2"].map((id) => log.index.get(id) !== undefined)).toEqual([true, false, true]);
  await log.close();
});
