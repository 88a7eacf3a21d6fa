import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { ChatUi, Transcript } from "../../packages/cli/src/tui/chat-ui.ts";
import { formatBackground } from "../../packages/cli/src/tui/text/status-figures.ts";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { answering, call, callAgent, newestInput, say, when } from "./support/agents-world.ts";
import { type ChatWorld, itemsOf, openChat } from "./support/chat-world.ts";
import { called } from "./support/called.ts";
import { agentWorld } from "./support/whole-agent.ts";

const model = "claude-sonnet-5-5";
const find = { type: "explore", description: "find the parser", prompt: "Find the PARSER please." };

const plays = [
  when("PARSER", say("I look."), call("grep", { pattern: "parser" })),
  when("Look into it", callAgent(find)),
  when("Begin", callAgent({ ...find, background: true })),
  when("AND NOW b.ts", say("b.ts has none.")),
  when("agent_report", say("The parser is in a.ts.")),
  when("tool_result", say("It is in a.ts, line 1.")),
] as const;

async function worldWith(responder: Responder = answering(...plays)) {
  const world = await agentWorld({ responder });
  await writeFile(join(world.work, "a.ts"), "export const parser = 1;\n");
  return world;
}

/** The agent's second request is answered when the test says so. */
function gatedResponder(): { readonly responder: Responder; readonly open: () => void } {
  const gate = Promise.withResolvers<void>();
  const inner = answering(...plays);
  return {
    open: () => gate.resolve(),
    responder: {
      name: "gated",
      respond: async (asked) => {
        const input = newestInput(asked.request);
        if (input.includes("tool_result") && !input.includes("explore")) await gate.promise;
        return await inner.respond(asked);
      },
    },
  };
}

/** Calls run without asking. */
const allowed = { agent: { tools: { mode: "bypass", allow: [], deny: [] } } } as const;

async function command({ chat }: ChatWorld, text: string): Promise<void> {
  chat.submit(text);
  await chat.rest();
}

const lines = ({ front }: ChatWorld): string => itemsOf(front.state).join("\n");
const lastItem = ({ front }: ChatWorld): string => itemsOf(front.state).at(-1) ?? "";
const pill = ({ front }: ChatWorld): string =>
  front.state === undefined ? "" : formatBackground(front.state.status.background);

/** A user who picks by the beginning of the title. */
const picks =
  (answers: Readonly<Record<string, string>>, seen: string[] = []): ChatUi["choose"] =>
  async ({ title, choices }) => {
    seen.push(`${title}: ${choices.map(({ label }) => label).join(", ")}`);
    const [, wanted] = Object.entries(answers).find(([beginning]) => title.startsWith(beginning)) ?? [];
    return choices.find(({ value, label }) => value === wanted || label.startsWith(wanted ?? " "))?.value;
  };

describe("/agents", () => {
  it("lists the types that can be started with their files, what is wrong with files, and that none has run", async () => {
    const world = await worldWith();
    const folder = join(world.home, "agents");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "reviewer.md"), "---\nname: reviewer\ndescription: Reads diffs.\n---\nYou review.\n");
    await writeFile(join(folder, "empty.md"), "no front matter\n");
    const opened = await openChat(world);
    await command(opened, "/agents");
    const text = lastItem(opened);
    const unwrapped = text.replaceAll(/\s+/g, "");
    expect(text).toContain("No agent was started in this session yet");
    expect(unwrapped).toContain(`reviewerReadsdiffs.(${join(folder, "reviewer.md")})`);
    expect(text).toMatch(/^explore {2}.*/m);
    expect(text).toMatch(/^fork {2}A copy of the conversation/m);
    expect(unwrapped).toContain(`error:${join(folder, "empty.md")}:itdoesnotbeginwithfront`);
  });

  it("shows an agent that has ended: outcome, use, its transcript in the viewer, its whole report", async () => {
    const world = await worldWith();
    const viewed: Transcript[] = [];
    const answers: Record<string, string> = { "Which agent?": "explore", "explore, ": "look" };
    const openTranscript: ChatUi["openTranscript"] = async (transcript) => {
      viewed.push(transcript);
      return "shown";
    };
    const opened = await openChat(world, { ...allowed, front: { choose: picks(answers), openTranscript } });
    await command(opened, "Look into it");
    expect(lines(opened)).toContain("agent explore: find the parser: done");
    const item = [...(opened.front.state?.done ?? [])].find(({ kind }) => kind === "call");
    expect(item?.kind === "call" ? item.summary : "").toMatch(
      /^explore has reported: 2 requests, 1 call, [\d,]+ tokens, \$/,
    );
    await command(opened, "/agents");
    expect(lastItem(opened)).toMatch(
      /^explore {2}find the parser · has reported \d+ s ago, after \d+ s\n {2}2 requests, 1 call, [\d,]+ tokens, /m,
    );
    const [asked] = viewed;
    expect(asked?.title).toBe("Agent explore");
    expect(asked?.items.map((one) => `${one.kind} ${one.kind === "call" ? one.tool : ""}`.trim())).toEqual([
      "user",
      "text",
      "call grep",
      "text",
    ]);
    const grep = asked?.items.find(({ kind }) => kind === "call");
    expect(grep === undefined ? undefined : await asked?.detail(grep)).toMatchObject({
      kind: "call",
      input: { pattern: "parser" },
      result: "a.ts",
    });
    expect(await asked?.refresh?.()).toBeUndefined();
    answers["explore, "] = "report";
    await command(opened, "/agents explore");
    expect(lastItem(opened)).toBe("report of explore\nIt is in a.ts, line 1.");
    await command(opened, "/agents nobody");
    expect(lastItem(opened)).toBe("warning: There is no agent nobody in this session. /agents lists them.");
  });

  it("a running agent is watched, gets the user's message, and goes on with another after its end", async () => {
    const { responder, open } = gatedResponder();
    const world = await worldWith(responder);
    const viewed: Transcript[] = [];
    const answers: Record<string, string> = { "Which agent?": "explore", "explore, ": "look" };
    const openTranscript: ChatUi["openTranscript"] = async (transcript) => {
      viewed.push(transcript);
      return "shown";
    };
    const edit = async (): Promise<string> => "AND NOW b.ts";
    const opened = await openChat(world, { ...allowed, front: { choose: picks(answers), openTranscript, edit } });
    await command(opened, "Begin");
    await vi.waitFor(() => expect(world.seen).toHaveLength(3));
    expect(pill(opened)).toBe("1 agent");
    await command(opened, "/agents");
    expect(lastItem(opened)).toMatch(/^explore {2}find the parser · running for \d+ s in the background$/m);
    answers["explore, "] = "send";
    await command(opened, "/agents explore");
    expect(lastItem(opened)).toBe("plain: explore reads it before its next request.");
    open();
    await vi.waitFor(() => expect(lines(opened)).toContain("Agent explore has reported: find the parser (3 requests"));
    expect(JSON.stringify(world.seen.at(-1)?.body)).toContain("AND NOW b.ts");
    expect(pill(opened)).toBe("");
    const items = await viewed[0]?.refresh?.();
    expect(items?.slice(-2)).toMatchObject([
      { kind: "user", text: "AND NOW b.ts" },
      { kind: "text", text: "b.ts has none." },
    ]);
    await command(opened, "/agents explore");
    expect(lastItem(opened)).toContain("explore goes on with it, in the background.");
    await vi.waitFor(() => expect(lines(opened).split("Agent explore has reported")).toHaveLength(3));
  });

  it("an agent that ran when the session was closed is lost, and a message continues it in the next process", async () => {
    const { responder, open } = gatedResponder();
    const world = await worldWith(responder);
    const first = await openChat(world, allowed);
    await command(first, "Begin");
    await vi.waitFor(() => expect(world.seen).toHaveLength(3));
    const id = first.handlers.session;
    await first.left();
    open();
    const choose = picks({ "explore, lost": "send" });
    const edit = async (): Promise<string> => "AND NOW b.ts";
    const opening = { session: { kind: "resume", id }, flags: [] } as const;
    const next = await openChat(world, { ...allowed, opening, front: { choose, edit } });
    expect(lines(next)).toMatch(/An agent was lost when the session ended \(explore\): .*\/agents/);
    await command(next, "/agents");
    expect(lastItem(next)).toMatch(/^explore {2}find the parser · lost: the session was closed while it worked/m);
    await command(next, "/agents explore");
    expect(lastItem(next)).toContain("explore goes on with it, in the background.");
    await vi.waitFor(() => expect(lines(next)).toContain("Agent explore has reported: find the parser"));
    const agents = next.agents[0]?.agents;
    const [run] = agents?.list() ?? [];
    expect(run === undefined ? undefined : await agents?.report(run.id)).toBe("b.ts has none.");
  });

  it("/tasks shows a background agent with its last lines, and stops it after asking", async () => {
    const { responder } = gatedResponder();
    const world = await worldWith(responder);
    const seen: string[] = [];
    const choose = picks({ "Which one?": "explore", explore: "end" }, seen);
    const opened = await openChat(world, { ...allowed, front: { choose } });
    await command(opened, "Begin");
    await vi.waitFor(() => expect(world.seen).toHaveLength(3));
    await command(opened, "/tasks");
    expect(seen).toEqual(["Which one?: explore: find the parser", "explore: Let it run, End it"]);
    expect(lines(opened)).toContain("> Find the PARSER please.\nI look.\n[grep] parser");
    expect(lines(opened)).toContain("explore is stopped. A message continues it: /agents explore");
    expect(lines(opened)).toContain("Agent explore was stopped: find the parser (");
    await command(opened, "/tasks");
    expect(lastItem(opened)).toBe("plain: Nothing runs beside the conversation.");
  });
});

it("hooks fire when an agent starts and stops, if their matcher is its type; /hooks lists them", async () => {
  const world = await worldWith();
  const hook = (matcher: string, name: string) => ({
    matcher,
    hooks: [{ type: "command", command: `cat >> ${join(world.work, name)}` }],
  });
  const hooks = {
    SubagentStart: [hook("explore", "start.txt"), hook("plan", "other.txt")],
    SubagentStop: [hook("", "stop.txt")],
  };
  await mkdir(world.home, { recursive: true });
  await writeFile(join(world.home, "settings.json"), JSON.stringify({ hooks }));
  const opened = await openChat(world, allowed);
  await command(opened, "Look into it");
  const fired = async (name: string): Promise<unknown> => JSON.parse(await readFile(join(world.work, name), "utf8"));
  const [run] = opened.agents[0]?.agents?.list() ?? [];
  expect(await fired("start.txt")).toMatchObject({ hook_event_name: "SubagentStart", agent_type: "explore" });
  expect(await fired("stop.txt")).toMatchObject({
    agent_id: run?.id,
    last_assistant_message: "It is in a.ts, line 1.",
  });
  expect(JSON.stringify(await fired("stop.txt"))).toContain(`/subagents/${run?.id}.jsonl`);
  await expect(fired("other.txt")).rejects.toThrow("ENOENT");
  await command(opened, "/hooks");
  expect(lastItem(opened)).toMatch(
    /^SubagentStart \(explore\) {2}cat[^]*^SubagentStart \(plan\)[^]*^SubagentStop {2}cat/m,
  );
});

it("-p says what each agent has cost", async () => {
  const world = await worldWith();
  const { home, work: cwd, url } = world;
  const env = { ANTHROPIC_API_KEY: "any", ANTHROPIC_BASE_URL: url, PALIMPSEST_MODEL: model };
  const { out } = await called({ home, cwd, env }, "-p", "Look into it", "--allow", "agent", "--output-format", "json");
  const result: unknown = JSON.parse(out);
  expect(result).toMatchObject({
    cost_by_agent: { explore: { requests: 2 } },
    cost_by_source: { agents: { requests: 2 } },
  });
});

it.each(["expand", "recall"])("%s prints the whole report of an agent, by its id", async (name) => {
  const report = "It is in a.ts. ".repeat(1_000);
  const world = await worldWith(answering(when("PARSER", say(report)), when("Look into it", callAgent(find))));
  const { home, work: cwd, url } = world;
  const env = { ANTHROPIC_API_KEY: "any", ANTHROPIC_BASE_URL: url, PALIMPSEST_MODEL: model };
  const { out } = await called({ home, cwd, env }, "-p", "Look into it", "--output-format", "json");
  const { session_id: session } = JSON.parse(out) as { readonly session_id: string };
  const [id = ""] = /agent-[\da-f]{8}/.exec(newestInput(world.seen.at(-1)?.body as never)) ?? [];
  const printed = await called({ home, cwd, env }, name, session, id);
  expect(printed).toMatchObject({ code: 0, out: report });
  expect((await called({ home, cwd, env }, name, session, "agent-00000000")).code).not.toBe(0);
});
