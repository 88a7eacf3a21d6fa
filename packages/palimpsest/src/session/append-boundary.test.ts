import { describe, expect, it } from "vitest";
import { append, logBytes, openedForTest, reply, say, testDeps, text, user } from "../../../../test/fixture/session.ts";
import { FactBook } from "../layers/4-compact/facts/fact-book.ts";
import type { SessionFacts } from "../layers/4-compact/facts/session-facts.ts";
import { blobId, entryId } from "../schema/brand.ts";
import { checkpointShape } from "../schema/checkpoint.ts";
import type { Receipt } from "../schema/receipt.ts";
import { appendBoundary, boundaryDrafts, type BoundaryInput } from "./append-boundary.ts";
import { storedFactsCharsMax } from "./limits.ts";
import type { SessionDeps } from "./session.ts";

const lastLines = async (deps: SessionDeps, count: number): Promise<Record<string, unknown>[]> =>
  new TextDecoder()
    .decode(await logBytes(deps))
    .trimEnd()
    .split("\n")
    .slice(-count)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

async function storedIn(deps: SessionDeps): Promise<ReturnType<typeof checkpointShape.parse>> {
  const named = /"checkpoint":"([0-9a-f]{64})"/.exec(JSON.stringify(await lastLines(deps, 2)))?.[1] ?? "";
  return checkpointShape.parse(JSON.parse(new TextDecoder().decode(await deps.blobs.get(blobId(named)))));
}

/** What a receipt says whatever the ids of its edits. */
const without = (edits: ReadonlySet<string>, { lines, ...rest }: Receipt): object => ({
  ...rest,
  edits: rest.edits.length,
  lines: lines.map((line) => (edits.has(line.entry) ? { ...line, entry: "new" } : line)),
});

describe("a boundary", () => {
  it("is foreseen as it will be, and foreseeing it writes nothing", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const asked = await say(session, user("one ".repeat(50)));
    await append(session, reply("m1", text("two ".repeat(50))));
    const input: BoundaryInput = {
      summary: "In short.",
      trigger: "auto",
      kept: { head: asked, tail: asked },
      attachments: [{ type: "attachment", attachment: { type: "hook_additional_context", content: ["more"] } }],
      because: "120 + 80 > 150",
      rates: { write: 3, read: 0.5 },
      planned: { removesTokens: 40, behindTokens: 20, cache: "cold" },
    };
    const before = await logBytes(deps);
    const { because, rates, planned } = input;
    const { receipt: foreseen, tokens } = session.foresee({
      drafts: boundaryDrafts(input, { leaf: session.fold.path.leaf?.id }),
      cause: "auto",
      nature: "summarised",
      because,
      planned,
      ...(rates === undefined ? {} : { rates }),
    });
    expect(await logBytes(deps)).toEqual(before);
    const edited = await appendBoundary(deps, session, input);
    if (edited.kind === "failed") throw new Error(edited.message);
    const ids = new Set<string>([...foreseen.edits, ...edited.receipt.edits]);
    expect(without(ids, foreseen)).toEqual(without(ids, edited.receipt));
    expect(edited.receipt).toMatchObject({ because });
    expect(session.ledger.size.tokens).toBe(tokens);
    const [boundary] = await lastLines(deps, 3);
    expect(boundary?.["receipt"]).toMatchObject({ because, cause: "auto", price: edited.receipt.price });
  });

  it("keeps messages that are no run, in the order of the view", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const ids = await append(session, user("a"), reply("m1", text("b")), user("c"), reply("m2", text("d")), user("e"));
    const preserved = [ids[4], ids[0]].flatMap((id) => id ?? []);
    await appendBoundary(deps, session, { summary: "In short.", trigger: "manual", preserved });
    const shown = session
      .view()
      .messages.flatMap(({ content }) => content.map((block) => (block.type === "text" ? block.text : block.type)));
    expect(shown).toEqual(["In short.", "a", "e"]);
    expect((await storedIn(deps)).items.map(({ entry }) => entry)).toEqual([ids[0], ids[4]]);
  });
});

describe("the facts in a checkpoint", () => {
  const facts: SessionFacts = new FactBook().facts();

  it("are those that were given, without the messages, which the log holds", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const asked = await say(session, user("a request that stands in the log"));
    const filesModified = [{ path: "/p/a.ts", entry: asked }];
    const userMessages = [{ entry: asked, text: "a request that stands in the log", at: undefined }];
    await appendBoundary(deps, session, {
      summary: "In short.",
      trigger: "manual",
      facts: { ...facts, filesModified, userMessages },
    });
    const stored = await storedIn(deps);
    expect(stored.facts?.filesModified).toEqual(filesModified);
    expect(stored.userMessages.map(({ entry }) => entry)).toEqual([asked]);
    expect(JSON.stringify(stored)).not.toContain("a request that stands");
  });

  it("are left out where they are larger than any session's, so that no checkpoint grows without end", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const entry = entryId("e");
    const errors = [{ text: "x".repeat(storedFactsCharsMax), of: "a", key: "a", entry, isOpen: true }];
    await append(session, user("a"));
    await appendBoundary(deps, session, { summary: "In short.", trigger: "manual", facts: { ...facts, errors } });
    expect((await storedIn(deps)).facts).toBeUndefined();
  });

  it("list what people said while the agent was at work among their messages", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    const queued = { type: "attachment", attachment: { type: "queued_command", prompt: "and the docs" } };
    const ids = await append(session, user("a"), reply("m1", text("b")), queued);
    await appendBoundary(deps, session, { summary: "In short.", trigger: "manual" });
    expect((await storedIn(deps)).userMessages.map(({ entry }) => entry)).toEqual([ids[0], ids[2]]);
  });
});
