import { describe, expect, it } from "vitest";
import { type CompactingAgent, compactingWorld, summaryRequests } from "../../../../../test/fixture/compacting.ts";
import { append, user } from "../../../../../test/fixture/session.ts";
import { defaultTemplate, renderNotes } from "../../layers/3-notes/notes.ts";
import { type EntryId, entryId } from "../../schema/brand.ts";
import type { Item } from "../../transcript/item.ts";
import { violations } from "../../transcript/violations.ts";
import type { RecordedNotes } from "./session-notes.ts";
import type { CompactionContext } from "./boundary-draft.ts";
import type { CompactionSetup } from "./compaction-setup.ts";
import { getPreset } from "../../policy/policy-catalogue.ts";
import type { PolicyName } from "../../schema/policy-names.ts";
import { overThresholdText } from "./summary-outcome.ts";
import type { Proposal } from "./proposal.ts";

const bare = renderNotes(defaultTemplate);
const text = bare.replace("# Worklog\n", "# Worklog\n- read the files\n");

interface Given {
  readonly rounds?: number;
  readonly windowTokens?: number;
  readonly flags?: readonly (readonly [string, string])[];
}

/** A conversation that has worked, with notes that the test gives. */
async function noted({ rounds = 24, windowTokens = 120_000, flags = [["off", "compact.auto"]] }: Given = {}) {
  const world = compactingWorld({ windowTokens });
  const given: { noted: RecordedNotes | undefined } = { noted: undefined };
  const notes: CompactionSetup["notes"] = {
    path: "/s/notes.md",
    roundEnded: () => undefined,
    settle: () => Promise.resolve("idle"),
    read: () => Promise.resolve(given.noted),
    template: () => Promise.resolve(defaultTemplate),
  };
  const agent = await world.agent("create", { compacting: { notes }, flags });
  world.script.left = rounds;
  await agent.turn("Look at the files.");
  return { world, agent, given };
}

const itemsOf = ({ session }: CompactingAgent): readonly Item[] => session.fold.projection.items;
const entryAt = (agent: CompactingAgent, at: number): EntryId => itemsOf(agent).at(at)?.entry ?? entryId("none");

async function proposalOf(agent: CompactingAgent): Promise<Proposal> {
  const { value } = await agent.propose();
  if (value.kind === "failed") expect.unreachable(value.message);
  return value.proposal;
}

describe("a compaction with notes that will not do asks a model and says why", () => {
  const refusals: readonly (readonly [string, Given, (agent: CompactingAgent) => RecordedNotes, string])[] = [
    [
      "they are as bare as the template",
      {},
      (agent) => ({ text: bare, covers: entryAt(agent, -1) }),
      "they hold nothing yet.",
    ],
    [
      "what they cover is gone",
      {},
      () => ({ text, covers: entryId("elsewhere") }),
      "what they cover is no longer in the view.",
    ],
    [
      "everything would stay",
      { rounds: 2 },
      (agent) => ({ text, covers: entryAt(agent, -1) }),
      "everything that they cover would stay.",
    ],
    [
      "they are longer than what they stand for",
      {},
      (agent) => ({ text, covers: entryAt(agent, 2) }),
      "The summary is not smaller than what it would replace.",
    ],
    [
      "they cover too little",
      { rounds: 40, windowTokens: 60_000 },
      (agent) => ({ text, covers: entryAt(agent, 8) }),
      "with what they do not cover, the context would still be over the threshold.",
    ],
  ];
  it.each(refusals)("%s", async (_, options, make, why) => {
    const { agent, given, world } = await noted(options);
    given.noted = make(agent);
    const { path, changes } = await proposalOf(agent);
    expect(path).toBe("fork");
    expect(changes).toContain(`The notes were not used: ${why}`);
    expect(summaryRequests(world.seen)).toHaveLength(1);
  });

  it("in the boundary too", async () => {
    const { agent, given } = await noted();
    given.noted = { text, covers: entryId("elsewhere") };
    const { value } = await agent.commit(await proposalOf(agent));
    expect(value.kind).toBe("committed");
    const boundary = agent.session.fold.path.entries.findLast(
      (entry) => entry.kind === "edit" && entry.edit.type === "boundary",
    );
    expect(boundary).toMatchObject({
      edit: { metadata: { changes: ["The notes were not used: what they cover is no longer in the view."] } },
    });
  });

  it("nothing is said where nobody has taken any", async () => {
    const { agent } = await noted();
    const { path, changes } = await proposalOf(agent);
    expect([path, changes]).toEqual(["fork", []]);
  });
});

const sizes: readonly (readonly [policy: PolicyName, tokensAfter: number, why: string | undefined])[] = [
  ["palimpsest", 36_000, undefined],
  ["palimpsest", 36_001, "The notes were not used: the context would still have about 36,001 tokens."],
  ["claude-code-2026-all", 39_999, undefined],
  ["claude-code-2026-all", 40_000, "The notes were not used: the context would still have about 40,000 tokens."],
];
it.each(sizes)("under %s, with ledger and working state at %i tokens of 40,000: %s", (policy, tokensAfter, why) => {
  const settings = { policy: getPreset(policy), thresholds: { compact: 40_000 } };
  const [proposal, context] = [{ preview: { tokensAfter } }, { settings }];
  expect(overThresholdText(proposal as unknown as Proposal, context as unknown as CompactionContext)).toBe(why);
});

describe("notes are not looked at", () => {
  const asks: readonly (readonly [string, Parameters<CompactingAgent["propose"]>[0], Given["flags"]])[] = [
    ["where the person asks for something particular", { instructions: "Keep names." }, undefined],
    ["where the person wrote the summary", { summary: "Read all the files; nothing is open." }, undefined],
    [
      "where their use is switched off",
      {},
      [
        ["off", "compact.auto"],
        ["off", "notesCompact"],
      ],
    ],
  ];
  it.each(asks)("%s", async (_, ask, flags) => {
    const { agent, given } = await noted(flags === undefined ? {} : { flags });
    given.noted = { text: bare, covers: entryAt(agent, -1) };
    const { value } = await agent.propose(ask);
    if (value.kind === "failed") expect.unreachable(value.message);
    expect(value.proposal.path).not.toBe("notes");
    expect(value.proposal.changes.join()).not.toContain("notes");
  });
});

describe("between a proposal of notes and its commit", () => {
  it("a message that comes stays behind what is kept, once", async () => {
    const { agent, given } = await noted();
    given.noted = { text, covers: entryAt(agent, -1) };
    const proposal = await proposalOf(agent);
    expect(proposal.path).toBe("notes");
    const kept = keptBehind(agent, proposal);
    await append(agent.session, user("And the printer too."));
    const said = entryAt(agent, -1);
    const { value } = await agent.commit(proposal);
    if (value.kind === "failed") expect.unreachable(value.message);
    expect(verbatimIn(agent)).toEqual([...kept, said]);
    expect(violations(agent.session.view().messages, { end: "any" })).toEqual([]);
  });

  it("newer notes change nothing: what was shown to the user is written", async () => {
    const { agent, given } = await noted();
    given.noted = { text, covers: entryAt(agent, -1) };
    const proposal = await proposalOf(agent);
    const kept = keptBehind(agent, proposal);
    given.noted = { text: text.replace("read the files", "OTHER"), covers: entryAt(agent, 2) };
    await agent.commit(proposal);
    expect(verbatimIn(agent)).toEqual(kept);
    expect(JSON.stringify(agent.session.view().messages)).not.toContain("OTHER");
  });

  it("an edit of the summary covers the same part, and is the user's", async () => {
    const { agent, given } = await noted();
    given.noted = { text, covers: entryAt(agent, -1) };
    const proposal = await proposalOf(agent);
    const kept = keptBehind(agent, proposal);
    expect(kept.length).toBeGreaterThan(5);
    const { events } = await agent.commit(proposal, { summary: "The files were read, in the person's own words." });
    expect(events).toContainEqual(expect.objectContaining({ kind: "compacted", path: "given" }));
    expect(verbatimIn(agent)).toEqual(kept);
    expect(JSON.stringify(agent.session.view().messages)).toContain("in the person's own words");
  });
});

/** What the proposal leaves as it is, in order. */
function keptBehind(agent: CompactingAgent, { coversUntil }: Proposal): readonly EntryId[] {
  const items = itemsOf(agent);
  return items.slice(items.findIndex(({ entry }) => entry === coversUntil) + 1).map(({ entry }) => entry);
}

/** What stands in the view as it was said. */
const verbatimIn = (agent: CompactingAgent): readonly EntryId[] =>
  itemsOf(agent)
    .filter(({ summary, attachment }) => summary !== true && attachment === undefined)
    .map(({ entry }) => entry);
