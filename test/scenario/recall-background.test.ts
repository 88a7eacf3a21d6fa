import { globSync } from "node:fs";
import { readdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { startCatchUpThread } from "../../packages/cli/src/host/background-recall.ts";
import { recallIndexPath } from "../../packages/palimpsest/src/store/files/file-recall.ts";
import { SpokenLog } from "../../bench/spoken-log.ts";
import { called } from "./support/called.ts";
import { openChat } from "./support/chat-world.ts";
import { playing, says } from "./support/simulated.ts";
import { storedText } from "./support/stored-index.ts";
import { type AgentWorld, agentWorld } from "./support/whole-agent.ts";

/** A world in whose project something was said once. */
async function talked(): Promise<{ readonly world: AgentWorld; readonly folder: string }> {
  const world = await agentWorld({ responder: playing(says("A quagga, you say.")) });
  const chat = await openChat(world, { message: "The quagga is a zebra." });
  await chat.chat.rest();
  await chat.left();
  const [log = ""] = globSync("projects/*/*.jsonl", { cwd: world.home });
  return { world, folder: dirname(join(world.home, log)) };
}

const start = ({ env, work }: AgentWorld) =>
  startCatchUpThread({ env, cwd: work }, { execArgv: ["--conditions=@palimpsest/source"] });

async function stamps(folder: string): Promise<readonly string[]> {
  const paths = [folder, ...(await readdir(folder)).map((name) => join(folder, name))];
  return Promise.all(paths.map(async (path) => `${path} ${(await stat(path)).mtimeMs} ${(await stat(path)).size}`));
}

/** Documents of which only a part is indexed. */
function unfinished(folder: string): unknown {
  const database = new DatabaseSync(recallIndexPath(folder), { readOnly: true });
  try {
    return database.prepare("select count(*) as n from documents where version = '' and passages > 0").get()?.["n"];
  } finally {
    database.close();
  }
}

describe("the thread that indexes in the background", () => {
  it("leaves an index that a search need not complete, and then neither writes nor runs", async () => {
    const { world, folder } = await talked();
    await start(world).ended;
    expect(await storedText(folder)).toContain("The quagga is a zebra.");
    const before = await stamps(folder);
    const cpu = process.cpuUsage();
    await wait(300);
    const { user, system } = process.cpuUsage(cpu);
    expect(user + system).toBeLessThan(150_000);
    expect(await stamps(folder)).toEqual(before);
    const found = await called({ home: world.home, cwd: world.work }, "recall", "--all", "quagga", "--json");
    expect(found.out).toContain("A quagga, you say.");
  });

  it("is ended in the middle of its work, and the next one completes it", async () => {
    const { world, folder } = await talked();
    const log = new SpokenLog();
    const lines = Array.from({ length: 700 }, () => [...log.round()]).flat();
    await writeFile(join(folder, "00000000-0000-4000-8000-000000000001.jsonl"), `${lines.join("\n")}\n`);
    const thread = start(world);
    await vi.waitFor(() => expect(unfinished(folder)).toBe(1), { timeout: 10_000, interval: 5 });
    const begin = performance.now();
    await thread.stop();
    await thread.ended;
    expect(performance.now() - begin).toBeLessThan(10_000);
    expect(unfinished(folder)).toBe(1);
    await start(world).ended;
    expect(unfinished(folder)).toBe(0);
    const found = await called({ home: world.home, cwd: world.work }, "recall", "--all", "quagga", "--json");
    expect(found.out).toContain("The quagga is a zebra.");
  });
});

describe("a chat", () => {
  it("asks for it after a reply, when it rests, and not after a command alone", async () => {
    const acts: string[] = [];
    const recall = {
      replied: () => void acts.push("replied"),
      busy: () => void acts.push("busy"),
      rests: () => void acts.push("rests"),
    };
    const world = await agentWorld({ responder: playing(says("Hello.")) });
    const { chat, left } = await openChat(world, { deps: { recall } });
    await chat.rest();
    acts.length = 0;
    chat.submit("/cost");
    await chat.rest();
    expect(acts).toEqual(["busy", "rests"]);
    chat.submit("Hello.");
    await chat.rest();
    expect(acts.slice(2)).toEqual(["busy", "replied", "rests"]);
    await left();
  });
});
