import { copyFile, mkdir, mkdtemp, readFile, rename, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { memoryStore } from "palimpsest/internal/store/memory/store";
import { ConversationLog } from "./conversation-log.ts";
import { Conversations } from "./conversations.ts";
import { forgetSessions } from "./forget-sessions.ts";
import { historyLogPath, listHistoryUsers, toolUsagePath } from "./gateway-files.ts";
import { HistoryLog } from "./history/history-log.ts";
import { deferAfterConversations } from "./limits.ts";
import { StoredHistories } from "./history/stored-histories.ts";
import { ToolUsageLog } from "./tools/tool-usage-log.ts";

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

const openConversations = async (toolUsageLog?: ToolUsageLog): Promise<Conversations> =>
  new Conversations({
    log: await ConversationLog.open(undefined),
    toolUsageLog,
    openStore: () => memoryStore(),
    reduction: () => ({ recall: "on", memory: "off", deferTools: "on", cacheMarks: "client" }),
    now: () => 0,
  });

it("a deleted session leaves no line among the deferred tools of a gateway that does not run", async () => {
  const home = await openHome();
  await deferTools(home);
  await forgetSessions(home, ["one"]);
  expect(await readTools(home)).not.toMatch(/"one"/);
  expect(await readTools(home)).toMatch(/"other"/);
});

it("a deleted session leaves no line among the deferred tools of a gateway that runs, nor in its memory", async () => {
  const home = await openHome();
  const toolUsageLog = await deferTools(home);
  const conversations = await openConversations(toolUsageLog);
  expect(await conversations.forget(["one"])).toBe("forgotten");
  expect(await readTools(home)).not.toMatch(/"one"/);
  expect(await readTools(home)).toMatch(/"other"/);
  const goesOn = { who: "local codex", offered: ["draw"], at: "goes-on" } as const;
  expect([...toolUsageLog.choose("one", goesOn)]).toEqual([]);
  await conversations.close();
});

const users = ["local", "ada", "eve"] as const;

/** Histories of each user, whose conversations are no longer known: a gateway knows the newest ones. */
async function storeHistories(home: string): Promise<void> {
  for (const user of users) {
    const path = historyLogPath(home, user);
    await mkdir(dirname(path), { recursive: true });
    const lines = ["one", "other"].map((name) => ({
      id: `msg_${name}`,
      session: `${user}-${name}`,
      added: [],
      said: [],
    }));
    await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
}

const readHistories = (home: string): Promise<readonly string[]> =>
  Promise.all(users.map((user) => readFile(historyLogPath(home, user), "utf8")));

it("a deleted session whose conversation is no longer known leaves no history of any user on disk", async () => {
  const home = await openHome();
  await storeHistories(home);
  await forgetSessions(home, ["local-one", "ada-one"]);
  const [local, ada, eve] = await readHistories(home);
  expect([local, ada].join("")).not.toMatch(/-one/);
  expect([local, ada, eve].map((text) => text?.includes("-other"))).toEqual([true, true, true]);
  expect(eve).toMatch(/eve-one/);
});

it("a deleted session whose conversation is no longer known leaves no history in a gateway that runs", async () => {
  const home = await openHome();
  await storeHistories(home);
  const histories = new StoredHistories(
    new HistoryLog((user) => historyLogPath(home, user), { listUsers: () => listHistoryUsers(home) }),
  );
  for (const user of users) await histories.restore(user);
  const goOn = (user: string, id: string): string =>
    histories.openThread({ user, bytes: Buffer.from(`{"messages":[],"thread":{"previous_message_id":"${id}"}}`) }).kind;
  const conversations = await openConversations();
  conversations.onForget((forgotten) => histories.forget(forgotten));
  expect([goOn("ada", "msg_one"), await conversations.forget(["ada-one"])]).toEqual(["stored", "forgotten"]);
  expect((await readHistories(home)).join("")).not.toMatch(/ada-one/);
  expect(["msg_one", "msg_other"].map((id) => goOn("ada", id))).toEqual(["not-found", "stored"]);
  expect(goOn("eve", "msg_one")).toBe("stored");
  await conversations.close();
});

it("a deleted session leaves no line in a file of histories that has its earlier name", async () => {
  const home = await openHome();
  await storeHistories(home);
  const [first, second] = [historyLogPath(home, "local"), historyLogPath(home, "ada")];
  const nameEarlier = (path: string): string => join(dirname(path), "held.jsonl");
  await rename(first, nameEarlier(first));
  // A gateway has begun the new file already.
  await copyFile(second, nameEarlier(second));
  await forgetSessions(home, ["local-one", "ada-one"]);
  const [local, ada] = await readHistories(home);
  expect([local, ada].map((text) => [text?.includes("-one"), text?.includes("-other")])).toEqual([
    [false, true],
    [false, true],
  ]);
  for (const path of [first, second]) await expect(readFile(nameEarlier(path))).rejects.toThrow("ENOENT");
});
