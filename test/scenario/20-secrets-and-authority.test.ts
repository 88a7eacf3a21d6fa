import { mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it, vi } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import type { ContextEvent } from "../../packages/palimpsest/src/context/outcomes.ts";
import { parseCoverage } from "../../packages/palimpsest/src/layers/3-notes/notes-coverage.ts";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import { fileStore } from "../../packages/palimpsest/src/store/files/store.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { lastUserText } from "../../packages/simulator/src/responder/request-text.ts";
import type { MoveBlock, Responder } from "../../packages/simulator/src/responder/responder.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { fakeSecrets } from "../fixture/secrets.ts";
import { called } from "./support/called.ts";
import { compact } from "./support/compaction-world.ts";
import { storedText } from "./support/stored-index.ts";
import { type AgentWorld, agentWorld, refused, turn } from "./support/whole-agent.ts";

const model = "claude-sonnet-5-5";
const all = fakeSecrets.map(({ text }) => text).join("\n\n");
const says = (text: string): MoveBlock => ({ type: "text", text });
const calls = (command: string): MoveBlock => ({ type: "tool_use", name: "bash", input: { command } });

/** As it stands in a file: as it is, or inside of JSON. */
const spellings = (secret: string): readonly string[] => [secret, JSON.stringify(secret).slice(1, -1)];
const leaked = (text: string): readonly string[] =>
  fakeSecrets.filter(({ secret }) => spellings(secret).some((one) => text.includes(one))).map(({ kind }) => kind);

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Where secrets stand below a folder: the kinds by the file's name. */
async function leaksBelow(folder: string): Promise<Readonly<Record<string, readonly string[]>>> {
  const found = await Promise.all(
    (await filesBelow(folder)).map(async (path) => [path, leaked(await readFile(path, "utf8"))] as const),
  );
  return Object.fromEntries(found.filter(([, kinds]) => kinds.length > 0));
}

/** Prints the keys, fails with them, says them, and notes all of it down. */
function careless(notes: { path: string }): Responder {
  let round = 0;
  return {
    name: "careless",
    respond: ({ request }) => {
      const asked = lastUserText(request);
      const blocks = ((): readonly MoveBlock[] => {
        if (asked.includes("notes file")) {
          const input = { file_path: notes.path, old_string: "# Worklog", new_string: `# Worklog\n${all}` };
          return [{ type: "tool_use", name: "edit", input }];
        }
        round += 1;
        if (round === 1) return [says("Looking."), calls("cat keys.txt; seq 1 9000")];
        if (round === 2) return [says(all), calls(`cat keys.txt >&2; exit 3 # ${fakeSecrets[0]?.text ?? ""}`)];
        return [says(`These are they:\n${all}`)];
      })();
      return { move: { kind: "say", blocks } };
    },
  };
}

async function talk(variables: Readonly<Record<string, string>>) {
  const notes = { path: "" };
  const world = await agentWorld({ responder: careless(notes) }, { PALIMPSEST_FLAG_NOTES: "1", ...variables });
  await writeFile(join(world.work, "keys.txt"), all);
  const agent = await world.open({ kind: "new" }, model);
  notes.path = agent.context.compacting.notes?.path ?? "";
  const events = await turn(agent, `Remember these:\n${all}`);
  await settle(agent);
  await agent.close();
  return { world, agent, events, notes };
}

/** Notes are taken beside the conversation: until they are recorded. */
const settle = ({ session }: Agent): Promise<void> =>
  vi.waitFor(() => expect(parseCoverage(session.fold.projection.settings)).toBeDefined(), { timeout: 10_000 });

const warnings = (events: readonly LoopEvent[]): readonly string[] =>
  events.flatMap((event) => (event.kind === "warning" && event.code === "secrets" ? [event.message] : []));

const logPath = async ({ home }: AgentWorld, id: string): Promise<string> =>
  (await filesBelow(home)).find((path) => path.endsWith(`${id}.jsonl`)) ?? "";

describe("keys of many shapes in prompts, outputs, errors and replies", () => {
  it("stay in a session that keeps them, and reach neither the notes nor the list of sessions", async () => {
    const { world, agent, events, notes } = await talk({});
    expect(warnings(events)).toEqual([]);
    const noted = await readFile(notes.path, "utf8");
    expect(noted).toContain("[secret: github-token]");
    expect(leaked(noted)).toEqual([]);
    const listed = await called({ home: world.home, cwd: world.work }, "sessions", "list", "--json");
    expect(listed.out).toContain(agent.session.id);
    expect(leaked(listed.out)).toEqual([]);
    const leaks = await leaksBelow(world.home);
    const log = await logPath(world, agent.session.id);
    expect(leaks[log]).toHaveLength(fakeSecrets.length);
    // The rest is the session's too: results that were offloaded. The text of the notes is none of it.
    const others = Object.keys(leaks).filter((path) => path !== log);
    expect(others.filter((path) => !path.includes("/blobs/") && !path.includes(`/${agent.session.id}/`))).toEqual([]);
    for (const path of others) expect(await readFile(path, "utf8")).not.toContain("# Worklog");
  });

  it("are in no file of a session that redacts them and in no later request, and the user is told how many", async () => {
    const { world, agent, events, notes } = await talk({ PALIMPSEST_SECRETS: "redact" });
    expect(await leaksBelow(world.home)).toEqual({});
    expect(await readFile(await logPath(world, agent.session.id), "utf8")).toContain("[secret: private-key]");
    expect(await readFile(notes.path, "utf8")).toContain("[secret: github-token]");
    expect(world.seen.length).toBeGreaterThan(2);
    expect(leaked(JSON.stringify(world.seen))).toEqual([]);
    expect(refused(world.seen)).toEqual([]);
    expect(warnings(events)[0]).toMatch(/^\d+ secrets left out of the session \(.*github-token.*\)\./);
    expect(leaked(warnings(events).join("\n"))).toEqual([]);
  });

  it("are masked in what a command is run with only afterwards: it gets what the model wrote", async () => {
    const secret = fakeSecrets.find(({ kind }) => kind === "GitHub personal token")?.secret ?? "";
    let round = 0;
    const responder: Responder = {
      name: "writer",
      respond: () => {
        round += 1;
        const blocks = round === 1 ? [calls(`printf %s ${secret} | wc -c`)] : [says("Done.")];
        return { move: { kind: "say", blocks } };
      },
    };
    const world = await agentWorld({ responder }, { PALIMPSEST_SECRETS: "redact" });
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, "Count it.");
    await agent.close();
    const log = await readFile(await logPath(world, agent.session.id), "utf8");
    expect(log).toContain("printf %s [secret: github-token] | wc -c");
    expect(log).toContain(`"content":"${secret.length}"`);
    expect(leaked(log)).toEqual([]);
  });

  it("are in nothing that a compaction writes: its summary, and the files that are shown again behind it", async () => {
    let round = 0;
    const world: AgentWorld = await agentWorld(
      {
        responder: {
          name: "reader",
          respond: () => {
            round += 1;
            const input = { file_path: join(world.work, "keys.txt") };
            const blocks: readonly MoveBlock[] =
              round === 1 ? [{ type: "tool_use", name: "read", input }] : [says(all)];
            return { move: { kind: "say", blocks } };
          },
        },
      },
      { PALIMPSEST_SECRETS: "redact" },
    );
    await writeFile(join(world.work, "keys.txt"), `first line of the file\n${all}`);
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, "Read it.");
    await compact(agent);
    await turn(agent, "Go on.");
    const shown = JSON.stringify(agent.session.view());
    await agent.close();
    expect(agent.session.fold.projection.items.some(({ summary }) => summary === true)).toBe(true);
    expect(shown).toContain("first line of the file");
    expect(leaked(JSON.stringify(world.seen))).toEqual([]);
    expect(await leaksBelow(world.home)).toEqual({});
  });

  it("in an instruction file are neither stored nor sent by a session that redacts", async () => {
    const responder: Responder = { name: "quiet", respond: () => ({ move: { kind: "say", blocks: [says("Yes.")] } }) };
    const world = await agentWorld({ responder }, { PALIMPSEST_SECRETS: "redact" });
    await writeFile(join(world.work, "CLAUDE.md"), `Deploy with:\n${all}`);
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, "Hello.");
    await agent.close();
    expect(JSON.stringify(world.seen)).toContain("Deploy with:");
    expect(leaked(JSON.stringify(world.seen))).toEqual([]);
    expect(await leaksBelow(world.home)).toEqual({});
  });
});

describe("the index of all sessions", () => {
  /** Known to secretlint and to none of our rules. */
  const account = ["cf", "ut_", "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d", "1a2b3c4d"].join("");

  it("has none of the keys of prompts, results, titles, notes and memories in its files, compressed or not", async () => {
    const { world } = await talk({});
    const second = await world.open({ kind: "new" }, model);
    await turn(second, `${account} is the key of the zebra`);
    const folder = dirname(await logPath(world, second.session.id));
    await second.close();
    await mkdir(join(folder, "memory"), { recursive: true });
    await writeFile(join(folder, "memory", "keys.md"), `The okapi's keys:\n\n${all}\n\n${account}\n`);
    const found = await called({ home: world.home, cwd: world.work }, "recall", "--all", "zebra", "okapi", "--json");
    expect(found.out).toContain('"memory"');
    expect(found.out).toContain("[secret: cloudflare] is the key of the zebra");
    const stored = await storedText(folder);
    expect(stored).toContain("[secret: github-token]");
    expect(leaked(stored)).toEqual([]);
    expect(stored).not.toContain(account);
    expect(leaked(found.out)).toEqual([]);
    expect(found.out).not.toContain(account);
  });
});

describe("a key that arrives in pieces", () => {
  it("is put together and redacted when its block ends; what is shown meanwhile is the screen's matter", async () => {
    const { secret = "" } = fakeSecrets[0] ?? {};
    const responder: Responder = {
      name: "speaker",
      respond: () => ({ move: { kind: "say", blocks: [says(`It is ${secret} for all I know.`)] } }),
    };
    const world = await agentWorld({ responder }, { PALIMPSEST_SECRETS: "redact" });
    const agent = await world.open({ kind: "new" }, model);
    const events = await turn(agent, "Say it.");
    const pieces = events.flatMap((event) => (event.kind === "text-delta" ? [event.text] : []));
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.filter((piece) => piece.includes(secret))).toEqual([]);
    expect(pieces.join("")).toContain(secret);
    expect(warnings(events)).toEqual([
      "1 secret left out of the session (anthropic-key). The model and the session see [secret: …] instead.",
    ]);
    expect(JSON.stringify(agent.session.view())).toContain("It is [secret: anthropic-key] for all I know.");
    await agent.close();
    expect(await leaksBelow(world.home)).toEqual({});
  });
});

describe("signed blocks", () => {
  it("stay as they came, so that the provider accepts them, and the rest of the reply is redacted", async () => {
    const { secret = "" } = fakeSecrets[0] ?? {};
    let round = 0;
    const responder: Responder = {
      name: "thinker",
      respond: () => {
        round += 1;
        const thinking: MoveBlock = { type: "thinking", thinking: `Is it ${secret}?` };
        const blocks = round === 1 ? [thinking, calls(`echo ${secret}`)] : [says(`It was ${secret}.`)];
        return { move: { kind: "say", blocks } };
      },
    };
    const world = await agentWorld({ responder }, { PALIMPSEST_SECRETS: "redact" });
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, "Think.");
    await turn(agent, "And again.");
    await agent.close();
    expect(refused(world.seen)).toEqual([]);
    const log = (await readFile(await logPath(world, agent.session.id), "utf8")).trimEnd().split("\n");
    const holding = log.filter((line) => line.includes(secret));
    expect(holding).toHaveLength(1);
    expect(holding[0]).toMatch(/"type":"thinking".*"signature":"[^"]+"/);
    expect(log.join("\n")).toContain("It was [secret: anthropic-key].");
  });
});

describe("a caller of the library", () => {
  it("has the same with the option: store, requests and event", async () => {
    const folder = await newFolder();
    const events: ContextEvent[] = [];
    const client = clientFor(`Here: ${all}`);
    const context = await openContext({
      model,
      system: `You deploy.\n${all}`,
      store: fileStore({ folder }),
      secrets: "redact",
      onEvent: (event) => events.push(event),
    });
    await context.user(all);
    const first = await context.next();
    await context.assistant(await client.messages.create(first.params));
    await context.user("And now?");
    const second = await context.next();
    await context.close();
    expect(leaked(JSON.stringify([first.params, second.params]))).toEqual([]);
    expect(await leaksBelow(folder)).toEqual({});
    expect(warnings(events)[0]).toContain("github-token");
  });

  it("may bring a scanner, and without the option everything stays as it was said", async () => {
    const folder = await newFolder();
    const secretScanner = {
      scan: (text: string) => {
        const start = text.indexOf("xyzzy");
        return Promise.resolve(start === -1 ? [] : [{ kind: "word", start, end: start + 5, line: 1 }]);
      },
    };
    const ours = await openContext({ model, store: fileStore({ folder }), secrets: "redact", secretScanner });
    await ours.user("say xyzzy");
    expect(JSON.stringify((await ours.next()).params)).toContain("say [secret: word]");
    await ours.close();
    const kept = await openContext({ model });
    await kept.user(all);
    expect(leaked(JSON.stringify((await kept.next()).params))).toHaveLength(fakeSecrets.length);
    await kept.close();
  });
});

const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), "library-"));

function clientFor(answer: string): Anthropic {
  const responder: Responder = { name: "one", respond: () => ({ move: { kind: "say", blocks: [says(answer)] } }) };
  const fetch = simulatorFetch(new Simulator({ responder }));
  return new Anthropic({ apiKey: "any", maxRetries: 0, baseURL: "http://simulator", fetch });
}
