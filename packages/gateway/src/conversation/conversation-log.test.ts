import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ConversationLog } from "./conversation-log.ts";

it("a new conversation is written at once, later lists together, and closing leaves none unwritten", async () => {
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-log-"));
  const path = join(folder, "conversations.jsonl");
  const log = await ConversationLog.open(path);
  await log.add(
    { id: "one", scope: "scope", tools: "tools" },
    { user: "local", project: undefined, client: undefined },
  );
  for (const list of ["a", "b", "c"]) log.note("one", { list, tail: [`${list}-tail`] });
  await log.add(
    { id: "two", scope: "scope", tools: "tools" },
    { user: "local", project: undefined, client: undefined },
  );
  log.note("one", { list: "d", tail: [] });
  expect((await readFile(path, "utf8")).split("\n")).toHaveLength(6);
  await log.close();
  const again = await ConversationLog.open(path);
  expect(again.index.get("one")).toMatchObject({ lists: ["a", "b", "c", "d"], tail: [] });
  await rm(folder, { recursive: true });
});
