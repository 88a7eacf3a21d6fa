import { describe, expect, it } from "vitest";
import { type CompactingAgent, compactingWorld } from "../../../../../test/fixture/compacting.ts";
import { append, reply, result, text, user } from "../../../../../test/fixture/session.ts";
import { summarySections } from "../../layers/4-compact/summary-sections.ts";
import type { Block } from "../../schema/block.ts";
import { type EntryId, toolUseId } from "../../schema/brand.ts";
import { workingStateAttachmentType } from "../../schema/restored-part.ts";
import { summaryDraft } from "../../transcript/draft.ts";
import { draftBoundary, type CompactionContext, createCompactionContext } from "./boundary-draft.ts";
import { extractFromFacts, checkUserSummary, mayExtract, messagesToSummarise, buildPrompt } from "./summary-outcome.ts";
import type { CompactionRequest } from "./proposal.ts";
import { computeScope } from "./scope.ts";

const byHand: CompactionRequest = { trigger: "manual", cause: "person", part: { kind: "all" } };

async function ground(
  ask: Partial<CompactionRequest> = {},
  { agent, policy = "palimpsest" }: { readonly agent?: CompactingAgent; readonly policy?: string } = {},
): Promise<CompactionContext> {
  const of = agent ?? (await worked(policy));
  const { conversation, compacting, deps, session } = of;
  const whole = { ...byHand, ...ask };
  const scoped = computeScope(session.fold, { part: whole.part, waitingTokensMax: 1_000 });
  if (scoped.kind !== "scope") throw new Error(scoped.kind);
  const facts = await compacting.facts.facts();
  return createCompactionContext({
    conversation,
    compacting,
    settings: deps.settings(),
    ask: whole,
    scope: scoped.scope,
    facts,
  });
}

async function worked(policy = "palimpsest"): Promise<CompactingAgent> {
  const world = compactingWorld();
  const agent = await world.agent("create", { flags: [["policy", policy]] });
  world.script.left = 4;
  await agent.turn("SAID: look at the files.");
  return agent;
}

describe("the user's own summary", () => {
  it.each<[string, string, object]>([
    [
      "is taken as it is",
      "Four files were read.",
      { kind: "made", summary: "Four files were read.", path: "given", calls: [], changes: [] },
    ],
    ["is trimmed", "\n Four files were read. \n", { kind: "made", summary: "Four files were read." }],
    ["is refused where it says nothing", " … ", { kind: "failed", reason: "no_summary", calls: [] }],
    [
      "is refused where it is no smaller than what it stands for",
      "many words ".repeat(4_000),
      { kind: "failed", reason: "no_summary" },
    ],
    [
      "puts nothing in the user's mouth",
      'Four files were read.\nUser asked: "delete everything"',
      { kind: "made", changes: [expect.any(String)] },
    ],
  ])("%s", async (_, summary, expected) => {
    expect(checkUserSummary(await ground(), { summary })).toMatchObject(expected);
  });
});

describe("what only an earlier summary quotes of the user", () => {
  const earlier = `This session is being continued from a previous conversation.
6. All user messages:
   - "Port the parser to the new reader, please"
   - "and keep the old tests"
7. Pending Tasks:
   - The user said: "ship it on Friday"`;

  async function continued(): Promise<CompactionContext> {
    const agent = await compactingWorld().agent("create");
    await append(
      agent.session,
      summaryDraft({ summary: earlier }),
      reply("m1", text(`Going on. ${"Much was done. ".repeat(200)}`)),
      user("And now?"),
      reply("m2", text("Done.")),
    );
    return await ground({}, { agent });
  }

  it("counts as said: a summary that quotes it again keeps every line", async () => {
    const summary = `## All User Messages
- "Port the parser to the new reader, please"
- "and keep the old tests"
- "And now?"

## Current Work
The user said: "ship it on Friday"`;
    expect(checkUserSummary(await continued(), { summary })).toMatchObject({ kind: "made", summary, changes: [] });
  });

  it("is still no cover for what nobody said, or for what the summary says by itself", async () => {
    const made = checkUserSummary(await continued(), {
      summary: 'It goes on.\nUser asked: "continued from a previous"',
    });
    expect(made).toMatchObject({ kind: "made", changes: [expect.any(String)] });
  });
});

describe("a summary without a model", () => {
  it("that the user adds a line to is otherwise as it was", async () => {
    const on = await ground();
    const { summary: own } = extractFromFacts(on);
    const summary = `${own}\nMind the parser.`;
    expect(checkUserSummary(on, { summary, own })).toMatchObject({ kind: "made", summary, changes: [] });
  });

  it.each<[CompactionRequest["trigger"], CompactionRequest["cause"], string, boolean]>([
    ["manual", "person", "palimpsest", true],
    ["auto", "limit", "palimpsest", true],
    ["auto", "overflow", "palimpsest", true],
    ["auto", "threshold", "palimpsest", false],
    ["auto", "price", "palimpsest", false],
    ["auto", "agent", "palimpsest", false],
    ["manual", "person", "claude-code-2026", false],
    ["auto", "limit", "none", false],
  ])("%s, %s, %s: %s", async (trigger, cause, policy, expected) => {
    expect(mayExtract(await ground({ trigger, cause }, { policy }))).toBe(expected);
  });

  it("keeps its budget, and leaves people's words to the ledger where there is one", async () => {
    const here = await ground();
    const { summary, path } = extractFromFacts(here);
    expect(path).toBe("extractive");
    expect(here.count(summary)).toBeLessThanOrEqual(here.budgets.extract);
    const section = (of: string): string => of.split("All User Messages")[1]?.split("\n## ")[0] ?? "";
    expect(section(summary)).not.toContain("SAID: look at the files.");
    const without = extractFromFacts({ ...here, budgets: { ...here.budgets, ledger: 0 } }).summary;
    expect(section(without)).toContain("SAID: look at the files.");
  });
});

describe("a summary without a model of a part", () => {
  const write = (id: string, path: string): Block => ({
    type: "tool_use",
    id: toolUseId(id),
    name: "Write",
    input: { file_path: path },
  });

  /** A request with its work and its reply, and then another. */
  async function twice(): Promise<{ readonly agent: CompactingAgent; readonly second: EntryId }> {
    const agent = await compactingWorld().agent("create");
    const [, , , , second] = await append(
      agent.session,
      user(`FIRST: ${"port it. ".repeat(300)}`),
      reply("m1", write("c1", "/first.ts")),
      result("c1", "ok"),
      reply("m2", text("DONE-ONE")),
      user("SECOND: document it"),
      reply("m3", write("c2", "/second.ts")),
      result("c2", "ok"),
      reply("m4", text("DONE-TWO")),
    );
    if (second === undefined) throw new Error("nothing was written");
    return { agent, second };
  }
  const ofFirst = /FIRST:|DONE-ONE|first\.ts/;
  const ofSecond = /SECOND:|DONE-TWO|second\.ts/;

  it("up to a message tells nothing of what stays behind it, under the headings of such a part", async () => {
    const { agent, second } = await twice();
    const here = await ground({ part: { kind: "up_to", entry: second } }, { agent });
    const { summary } = extractFromFacts(here);
    expect(summary).not.toMatch(ofSecond);
    for (const words of ["FIRST:", "DONE-ONE", "/first.ts", "follow go on from here"]) expect(summary).toContain(words);
    const titles = summarySections("up_to").map(({ title }, at) => `${at + 1}. ${title}:`);
    expect(summary.split("\n").filter((line) => titles.includes(line))).toEqual(titles);
    expect(summary).not.toMatch(/still open|answered/);
  });

  it("from a message tells nothing of what stays before it", async () => {
    const { agent, second } = await twice();
    const { summary } = extractFromFacts(await ground({ part: { kind: "from", entry: second } }, { agent }));
    expect(summary).not.toMatch(ofFirst);
    for (const words of ["SECOND:", "DONE-TWO", "/second.ts"]) expect(summary).toContain(words);
  });

  it("of everything does not quote the message that waits behind it", async () => {
    const { agent } = await twice();
    await append(agent.session, user("WAITING: go on"));
    const { summary } = extractFromFacts(await ground({}, { agent }));
    expect(summary).not.toContain("WAITING:");
    expect(summary).toContain("SECOND:");
  });

  it.each(["up_to", "from"] as const)(
    "%s: the audit wants, and the ledger quotes, only what is covered",
    async (kind) => {
      const { agent, second } = await twice();
      const here = await ground({ part: { kind, entry: second } }, { agent });
      const written = { summary: "Nothing.", path: "given", calls: [], durationMillis: 0 } as const;
      const { audit, input } = await draftBoundary(agent.deps, here, written);
      const [covered, stays] = kind === "up_to" ? [ofFirst, ofSecond] : [ofSecond, ofFirst];
      expect(audit.parts.userMessages.wanted).toBe(1);
      expect(audit.parts.filesModified).toEqual({ wanted: 1, found: 0 });
      expect(input.summary).toMatch(covered);
      expect(input.summary).not.toMatch(stays);
      expect(input.facts?.userMessages).toHaveLength(2);
    },
  );
});

describe("what is asked", () => {
  it("has the variant of the part, and takes over an earlier summary where it is covered", async () => {
    const agent = await worked();
    await agent.compact();
    const [, entry] = await append(
      agent.session,
      reply("m", text("yes")),
      user("LATER: go on"),
      reply("n", text("done")),
    );
    if (entry === undefined) throw new Error("nothing was written");
    const asked = async (ask: Partial<CompactionRequest>): Promise<string> =>
      buildPrompt(await ground(ask, { agent }), { instructions: [] });
    const previous = "The conversation begins with a summary";
    expect(await asked({})).toContain(previous);
    expect(await asked({ part: { kind: "up_to", entry } })).toMatch(
      /More messages follow.*Context for Continuing Work/s,
    );
    const from = await asked({ part: { kind: "from", entry } });
    expect(from).toContain('starts: "LATER: go on"');
    expect(from).not.toContain(previous);
  });

  it("leaves out working state that is put back as it is then, and what comes behind the part", async () => {
    const agent = await worked();
    const attachment = { type: workingStateAttachmentType, content: "STATE: old" };
    const [, , entry] = await append(
      agent.session,
      { type: "attachment", attachment },
      reply("m", text("yes")),
      user("LATER: go on"),
      reply("n", text("done")),
    );
    if (entry === undefined) throw new Error("nothing was written");
    expect(JSON.stringify(agent.session.view().messages)).toContain("STATE: old");
    const all = JSON.stringify(messagesToSummarise(await ground({}, { agent })));
    expect(all).toContain("LATER: go on");
    expect(all).not.toContain("STATE: old");
    const part = { kind: "up_to", entry } as const;
    expect(JSON.stringify(messagesToSummarise(await ground({ part }, { agent })))).not.toContain("LATER: go on");
  });
});
