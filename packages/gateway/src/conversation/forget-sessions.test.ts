import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { memoryStore } from "palimpsest/internal/store/memory/store";
import { ConversationLog } from "./conversation-log.ts";
import { Conversations } from "./conversations.ts";
import { forgetSessions, toolUsagePath } from "./forget-sessions.ts";
import { deferAfterConversations } from "./limits.ts";
import { ToolUsageLog } from "./tool-usage-log.ts";

const openHome = (): Promise<string> => mkdtemp(join(tmpdir(), "forget-"));

/** What two conversations have of a tool that their client never calls. */
async function deferTools(home: string): Promise<ToolUsageLog> {
  const log = await ToolUsageLog.open(toolUsagePath(home));
  const begins = { who: "local codex", offered: ["draw"], at: "begins" } as const;
  for (let nth = 0; nth < deferAfterConversations; nth += 1) log.choose(`earlier ${nth}`, begins);
  for (const id of ["one", "other"]) expect([...log.choose(id, begins)]).toEqual(["draw"]);
  await log.close();
  expect(await readTools(home)).toMatch(/"one"/);
  return log;
}

const readTools = (home: string): Promise<string> => readFile(toolUsagePath(home), "utf8");

it("a deleted session leaves no line among the deferred tools of a gateway that does not run", async () => {
  const home = await openHome();
  await deferTools(home);
  await forgetSessions(home, ["one"]);
  expect(await readTools(home)).not.toMatch(/"one"/);
  expect(await readTools(home)).toMatch(/"other"/);
});

it("nor of one that runs, which forgets it in memory too", async () => {
  const home = await openHome();
  const toolUsageLog = await deferTools(home);
  const conversations = new Conversations({
    log: await ConversationLog.open(undefined),
    toolUsageLog,
    openStore: () => memoryStore(),
    reduction: () => ({ recall: "on", memory: "off", deferTools: "on", cacheMarks: "client" }),
    now: () => 0,
  });
  expect(await conversations.forget(["one"])).toBe("forgotten");
  expect(await readTools(home)).not.toMatch(/"one"/);
  expect(await readTools(home)).toMatch(/"other"/);
  const goesOn = { who: "local codex", offered: ["draw"], at: "goes-on" } as const;
  expect([...toolUsageLog.choose("one", goesOn)]).toEqual([]);
  await conversations.close();
});
