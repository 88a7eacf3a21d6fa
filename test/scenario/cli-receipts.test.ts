import { beforeAll, describe, expect, it } from "vitest";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import { compactionCostDraft, notesCostDraft } from "../../packages/palimpsest/src/context/past-costs.ts";
import { rewind } from "../../packages/palimpsest/src/session/undo.ts";
import { append, call, cleared, reply, result, text, user } from "../fixture/session.ts";
import { expectRefusal, json, newWorld, rawLog, said, type World } from "./support/cli-world.ts";
import { openedSession } from "./support/project.ts";

let world: World;
beforeAll(async () => {
  world = await newWorld();
});

interface Receipts {
  readonly edits: readonly Readonly<Record<string, unknown>>[];
  readonly spent: readonly Readonly<Record<string, unknown>>[];
  readonly notes: readonly Readonly<Record<string, unknown>>[];
}

describe("palimpsest receipts", () => {
  it("lists every edit with its rule, its arithmetic, its price and how to undo it; what was undone says so", async () => {
    const session = await openedSession(world.deps, "edits", "create");
    await append(session, user("Go."), reply("m1", call("t1")), result("t1", "words ".repeat(500)));
    await append(session, reply("m2", text("Read.")), user("And?"));
    const edited = await session.edit({
      drafts: [cleared("t1")],
      cause: "clear.price",
      nature: "reduced",
      because: "the cache is cold: 500 tokens need not be written again",
      figures: { rent: 40, neededRent: 30 },
      planned: { removesTokens: 500, behindTokens: 0, cache: "cold" },
      rates: { write: 2, read: 0.1 },
    });
    await session.append({ type: "setting", name: "x", value: 1 });
    await session.close();
    const id = edited.kind === "edited" ? (edited.entries[0] ?? "") : "";
    const { edits } = json<Receipts>(await world.call("receipts", "edits", "--json"));
    expect(edits).toHaveLength(1);
    expect(edits[0]).toMatchObject({
      id,
      kind: "clear",
      state: "in force",
      cause: "clear.price",
      because: "the cache is cold: 500 tokens need not be written again",
      figures: { rent: 40, neededRent: 30 },
      count: 1,
      price: { writeRate: 2, now: -1000, perRound: 50, breakEvenRounds: 0 },
      undo: `palimpsest undo edits ${id}`,
    });
    const { out } = await world.call("receipts", "edits");
    expect(out).toMatch(/^\S+ \S+ {2}clear of 1 \(clear\.price\)\n {2}because +the cache is cold/);
    expect(out).toMatch(/price +saves 1,000 input tokens at once, saves 50 in each later round; pays\s+at once/);
    expect(out).toContain(`palimpsest undo edits ${id}`);
    expect(out).not.toContain("rent");
    await world.call("undo", "edits");
    const after = json<Receipts>(await world.call("receipts", "edits", "--json")).edits;
    expect(after).toMatchObject([
      { id, state: "undone", undo: null },
      { kind: "undo", state: "in force", cause: "asked" },
    ]);
  });

  it("what the client or the user took back has no price: nothing was saved", async () => {
    const session = await openedSession(world.deps, "rewound", "create");
    await append(session, user("Go."), reply("m1", text("Gone.")));
    const [further] = await append(session, user("Further."), reply("m2", text("words ".repeat(500))));
    await rewind(session, further ?? expect.unreachable());
    await session.close();
    const { edits } = json<Receipts>(await world.call("receipts", "rewound", "--json"));
    expect(edits).toMatchObject([{ kind: "branch", by: "caller", price: null, entries: { kept: 2, dropped: 2 } }]);
    const { out } = await world.call("receipts", "rewound");
    expect(out).toMatch(
      / {2}branch\n {2}tokens .*\n {2}saved +nothing: the client or the user went on from an earlier\s+message\n/,
    );
    expect(out).not.toMatch(/price|pays/);
  });

  it("another tool's edits are listed without a receipt", async () => {
    const session = await openedSession(world.deps, "plain", "create");
    await append(session, user("Go."), reply("m1", call("t1")), result("t1", "words"), cleared("t1"));
    await session.close();
    const { edits } = json<Receipts>(await world.call("receipts", "plain", "--json"));
    expect(edits).toMatchObject([{ kind: "clear", cause: "asked", figures: null, price: null, tokensBefore: null }]);
    expect((await world.call("receipts", "plain")).out).not.toContain("tokens");
  });

  it("another tool's boundary shows its trigger and the context before and after it, as far as the log knows", async () => {
    const raw = rawLog();
    const reply = (id: string, input: number) => {
      const { message, ...rest } = said.text(id, "Done.");
      return { ...rest, message: { ...message, usage: { input_tokens: input, output_tokens: 10 } } };
    };
    raw.add(said.user("Go."));
    const last = raw.add(reply("m1", 90_000));
    raw.add({ ...said.boundary(last), compactMetadata: { trigger: "auto" } });
    raw.add(said.summary("What was said."));
    const second = raw.add(reply("m2", 12_000));
    raw.add({ ...said.boundary(second), compactMetadata: { trigger: "manual", preTokens: 12_345 } });
    raw.add(said.summary("All of it."));
    const path = world.file("foreign.jsonl", raw.entries);
    const { edits } = json<Receipts>(await world.call("receipts", path, "--json"));
    expect(edits).toMatchObject([
      { kind: "boundary", cause: "auto", contextTokensBefore: 90_010, contextTokensAfter: 12_000 },
      { kind: "boundary", cause: "manual", contextTokensBefore: 12_345, contextTokensAfter: null },
    ]);
    const { out } = await world.call("receipts", path);
    expect(out).toMatch(/boundary \(auto\)\n {2}context 90,010 → 12,000 tokens, as they were counted\n/);
    expect(out).toMatch(/boundary \(manual\)\n {2}context 12,345 tokens, as they were counted\n/);
  });

  it("a compaction shows what its calls cost as it was booked, and which boundary it follows; calls without one are listed too", async () => {
    const usage = { input_tokens: 1_000_000, output_tokens: 0 };
    const calls = [{ path: "fork" as const, model: "claude-sonnet-5", usage }];
    const session = await openedSession(world.deps, "chained", "create");
    const boundaryWith = (metadata: object) =>
      appendBoundary(world.deps, session, {
        summary: "All.",
        trigger: "auto",
        metadata: { path: "fork", ...metadata },
      });
    await append(session, user("Go."), reply("m1", text("Done.")), compactionCostDraft(calls, "auto"));
    const since = { turnsSince: 2, roundsSince: 14 };
    await boundaryWith({ calls, changes: ["The notes were not used."], chain: { boundaries: 0, ...since } });
    await append(session, user("And?"), reply("m2", text("Done.")));
    const [{ id: first } = {}] = session.fold.projection.boundaries;
    await boundaryWith({ calls, costNanos: 5e9, chain: { previous: first, boundaries: 1, ...since } });
    await session.close();
    const { edits, spent } = json<Receipts>(await world.call("receipts", "chained", "--json"));
    const priced = (edits[0]?.["compaction"] as { costUsd: number } | undefined)?.costUsd;
    expect(priced).toBeGreaterThan(0);
    expect(priced).not.toBe(5);
    expect(edits.map(({ compaction }) => (compaction as { changes: unknown }).changes)).toEqual([
      ["The notes were not used."],
      [],
    ]);
    expect(edits[1]).toMatchObject({ compaction: { costUsd: 5, chain: { previous: first, boundaries: 1 } } });
    expect(spent).toMatchObject([{ trigger: "auto", calls, costUsd: priced }]);
    const { out } = await world.call("receipts", "chained");
    expect(out).toMatch(/^\S+ \S+ {2}summary that was not installed \(auto\)\n {2}cost +\$\d+\.\d+ for 1 call\n/);
    expect(out.replaceAll(/\s+/g, " ")).toContain(
      `cost $5.0000 for 1 call follows ${first} after 2 turns and 14 rounds; number 2 in force`,
    );
    expect(out.match(/follows/g)).toHaveLength(1);
    expect(out.match(/^ {2}changed The notes were not used\.$/gm)).toHaveLength(1);
  });

  it("notes show how often they were taken, in vain or not, and what all of it cost; so does the list of edits, one by one", async () => {
    const usage = [{ input_tokens: 1_000_000, output_tokens: 0 }];
    const model = "claude-sonnet-5";
    const session = await openedSession(world.deps, "noted", "create");
    const failed = { why: "edits", message: "None fitted." };
    await append(session, user("Go."), reply("m1", text("Done.")), notesCostDraft({ model, usage }));
    await append(session, notesCostDraft({ model, usage, failed }), notesCostDraft({ model, usage: [], failed }));
    await session.close();
    const { notes } = json<Receipts>(await world.call("receipts", "noted", "--json"));
    const costUsd = notes[0]?.["costUsd"];
    expect(costUsd).toBeGreaterThan(0);
    expect(notes).toMatchObject([
      { failed: null, calls: [{ model }], costUsd },
      { failed, calls: [{ model }], costUsd },
      { failed, calls: [], costUsd: null },
    ]);
    const each = Number(costUsd);
    expect((await world.call("receipts", "noted")).out).toBe(
      `No edits.\nnotes\n  taken   3 times, 2 in vain\n  cost    $${(2 * each).toFixed(4)} for 2 calls\n`,
    );
    const { edits } = json<Receipts>(await world.call("sessions", "show", "noted", "--json"));
    expect(edits.map(({ calls, costUsd: usd }) => [calls, usd])).toEqual([
      [1, each],
      [1, each],
      [undefined, undefined],
    ]);
    const { out } = await world.call("sessions", "show", "noted");
    expect(out.split(`setting notes.spent, $${each.toFixed(4)}`)).toHaveLength(3);
  });

  it("a session without edits says so, and one that is not there is refused", async () => {
    const session = await openedSession(world.deps, "none", "create");
    await append(session, user("Go."));
    await session.close();
    expect((await world.call("receipts", "none")).out).toBe("No edits.\n");
    expectRefusal(await world.call("receipts", "nobody"), 3, /no session or file/);
  });
});
