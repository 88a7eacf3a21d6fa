import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expand } from "../../packages/palimpsest/src/session/expand.ts";
import { openLog, openLogAt } from "../../packages/palimpsest/src/session/open-log.ts";
import type { MessageId } from "../../packages/palimpsest/src/schema/brand.ts";
import { Fold, type View } from "../../packages/palimpsest/src/transcript/fold.ts";
import type { LoggedEntry } from "../../packages/palimpsest/src/transcript/read-lines.ts";
import { violations } from "../../packages/palimpsest/src/transcript/violations.ts";
import { blobsWith, bytesOf, flat, foldOf, loggedOf, sourceOf } from "../fixture/log.ts";
import { logBytes, testDeps } from "../fixture/session.ts";
import { anyHistory, type History, HistoryWriter, othersHistory, soundHistory } from "./history.ts";
import { anyMove, editMove, type EditMove, type Move, turnMove } from "./move.ts";
import { SessionPlayer, sessionMove } from "./session-moves.ts";
import { parametersFor, seed } from "./runs.ts";

const runs = parametersFor({ quick: 400, long: 10_000 });
const fewer = parametersFor({ quick: 150, long: 10_000 });

/** Folds a log live, one entry after the other, and shows the fold after each. */
function* lived(
  logged: readonly LoggedEntry[],
): Generator<{ readonly fold: Fold; readonly at: number; readonly one: LoggedEntry }> {
  const fold = new Fold();
  for (const [at, one] of logged.entries()) {
    fold.append(one);
    yield { fold, at, one };
  }
}

/** Does a reply go on behind this place of the log? Judged over the whole log, as `openLogAt` does. */
function continuesBehind(logged: readonly LoggedEntry[]): (at: number) => (reply: MessageId) => boolean {
  const lastByReply = new Map<MessageId, number>();
  for (const [at, { entry }] of logged.entries()) {
    if (entry.kind === "assistant" && entry.messageId !== undefined) lastByReply.set(entry.messageId, at);
  }
  return (at) => (reply) => (lastByReply.get(reply) ?? -1) > at;
}

/** What the model would be sent, and whether it may be. */
const seen = ({ messages, sendable, why }: View): object => ({ messages, sendable, why: why?.code });

/** Pins and settings may follow: they change what later plans do, never what was said. A repair fills in, it never rewrites. */
const rewrites = ({ entry }: LoggedEntry): boolean =>
  (entry.kind === "user" && entry.summary) ||
  (entry.kind === "edit" && !["repair", "pin", "unpin", "setting", "server-edits"].includes(entry.edit.type));

const holds = (
  property: fc.IProperty<[History]> | fc.IAsyncProperty<[History]>,
  parameters = runs,
): Promise<void> | void => fc.assert(property as fc.IAsyncProperty<[History]>, parameters);

describe(`the laws of the view, ${runs.numRuns} histories each, seed ${seed}`, () => {
  describe("Validity", () => {
    it("at every entry the messages are well-formed, and at a sendable point they are a valid request", () => {
      void holds(
        fc.property(anyHistory, ({ lines }) => {
          for (const { fold } of lived(loggedOf(lines))) {
            const view = fold.view();
            expect(violations(view.messages, { end: view.sendable ? "user" : "any" })).toEqual([]);
            expect(view.messages.length > 0 || view.why?.code === "no-user-message").toBe(true);
          }
        }),
      );
    });
  });

  describe("Prefix stability", () => {
    it("without an edit, the request at one sendable point is a prefix of the request at the next", () => {
      void holds(
        fc.property(anyHistory, ({ lines }) => {
          const logged = loggedOf(lines);
          const continues = continuesBehind(logged);
          let last: { readonly path: readonly LoggedEntry[]; readonly blocks: readonly string[] } | undefined;
          for (const { fold, at } of lived(logged)) {
            const view = fold.view({ continues: continues(at) });
            if (!view.sendable) continue;
            const path = fold.path.logged;
            const blocks = flat(view.messages).map((block) => JSON.stringify(block));
            const goesOn = last?.path.every((one, index) => one === path[index]) === true;
            const added = path.slice(last?.path.length ?? 0);
            if (last !== undefined && goesOn && !added.some(rewrites))
              expect(blocks.slice(0, last.blocks.length)).toEqual(last.blocks);
            last = { path, blocks };
          }
        }),
      );
    });
  });

  describe("Losslessness", () => {
    it("every entry comes back by its uuid and every tool result by its call's id, byte for byte", async () => {
      await holds(
        fc.asyncProperty(anyHistory, async ({ lines, blobs, originals }) => {
          const deps = { blobs: await blobsWith(blobs.values()) };
          const source = sourceOf(bytesOf(lines));
          const firstLine = new Map<string, string>();
          for (const line of lines) {
            const { uuid } = JSON.parse(line) as { uuid?: string };
            if (uuid !== undefined && !firstLine.has(uuid)) firstLine.set(uuid, line);
          }
          for (const [uuid, line] of firstLine) expect(textOf(await expand(deps, source, uuid))).toBe(line);
          for (const [call, original] of originals) expect(textOf(await expand(deps, source, call))).toBe(original);
        }),
      );
    });
  });

  describe("Replay", () => {
    it("at every entry the live view equals the view folded from the entries so far", () => {
      void holds(
        fc.property(anyHistory, ({ lines }) => {
          const logged = loggedOf(lines);
          for (const { fold, at } of lived(logged)) {
            expect(fold.view()).toEqual(foldOf(logged.slice(0, at + 1)).view());
          }
        }),
      );
    });

    it("openLogAt gives the live view of any entry, offloads undone since included", async () => {
      await holds(
        fc.asyncProperty(soundHistory, async ({ lines, blobs }) => {
          const deps = { blobs: await blobsWith(blobs.values()) };
          const source = sourceOf(bytesOf(lines));
          for (const at of sampled(lines.length)) {
            const whole = await openLogAt(deps, { source, origin: "ours", at: String(at) });
            const cut = await openLog(deps, { source: sourceOf(bytesOf(lines.slice(0, at))), origin: "ours" });
            expect(whole?.fold.view().messages).toEqual(cut.fold.view().messages);
          }
        }),
        fewer,
      );
    });

    it("another tool's log, opened from its end, gives the view of the log read whole", async () => {
      let fromBoundary = 0;
      await holds(
        fc.asyncProperty(othersHistory, async ({ lines, blobs }) => {
          const deps = { blobs: await blobsWith(blobs.values()) };
          for (const at of sampled(lines.length)) {
            const source = sourceOf(bytesOf(lines.slice(0, at)));
            const whole = await openLog(deps, { source, origin: "foreign" });
            const tail = await openLog(deps, { source, origin: "foreign", tailBytes: 300 });
            if (tail.read.from === "boundary") fromBoundary += 1;
            expect(seen(tail.fold.view())).toEqual(seen(whole.fold.view()));
          }
        }),
      );
      expect(fromBoundary).toBeGreaterThan(runs.numRuns / 20);
    });
  });

  describe("Replay of our own sessions, from their checkpoints", () => {
    const moves = fc.array(sessionMove, { minLength: 1, maxLength: 20 });

    it("after every step, the session opened from its end and the log read whole give the live view", async () => {
      let fromBoundary = 0;
      await fc.assert(
        fc.asyncProperty(moves, async (steps) => {
          const deps = testDeps({ tailBytes: 500 });
          const player = await SessionPlayer.start(deps);
          for (const step of steps) {
            await player.play(step);
            const live = JSON.stringify(seen(player.session.view()));
            const source = sourceOf(await logBytes(deps));
            const tail = await openLog(deps, { source, origin: "ours", tailBytes: 500 });
            if (tail.read.from === "boundary") fromBoundary += 1;
            const whole = await openLog(deps, { source, origin: "ours" });
            expect(JSON.stringify(seen(whole.fold.view())), "read whole").toBe(live);
            expect(JSON.stringify(seen(tail.fold.view())), "opened from its end").toBe(live);
            expect(violations(player.session.view().messages, { end: "any" })).toEqual([]);
          }
        }),
        runs,
      );
      expect(fromBoundary).toBeGreaterThan(runs.numRuns / 2);
    });
  });

  describe("Undo", () => {
    /** What comes before may end on another branch or in a broken place: the edit then stands behind these. */
    const said: readonly Move[] = [
      { do: "user", form: "string" },
      { do: "user", form: "string" },
    ];
    const withEdits = fc.record({
      before: fc.array(anyMove, { minLength: 1, maxLength: 16 }),
      edits: fc.array(editMove, { minLength: 1, maxLength: 3 }),
      after: fc.array(turnMove, { maxLength: 4 }),
    });

    it("an edit and its undo leave the messages byte for byte as they were, three levels deep", async () => {
      await fc.assert(
        fc.asyncProperty(withEdits, async ({ before, edits }) => {
          const writer = new HistoryWriter().play([...before, ...said]);
          const levels: { readonly edit: string; readonly view: string }[] = [];
          for (const edit of edits) {
            const view = await sent(writer);
            const uuid = writer.edit(withSummary(edit));
            if (uuid !== undefined) levels.push({ edit: uuid, view });
          }
          for (const { edit, view } of levels.toReversed()) {
            writer.undo(edit);
            expect(await sent(writer)).toBe(view);
          }
        }),
        runs,
      );
    });

    it("with new turns behind the edit, its undo gives the original with the new turns behind it", async () => {
      await fc.assert(
        fc.asyncProperty(withEdits, async ({ before, edits, after }) => {
          const plain = new HistoryWriter().play([...before, ...said]);
          const edited = plain.fork();
          const done = edits.flatMap((edit) => edited.edit(withSummary(edit)) ?? []);
          edited.adoptSerial(plain);
          plain.play([...said, ...after]);
          edited.play([...said, ...after]);
          for (const edit of done.toReversed()) edited.undo(edit);
          expect(await sent(edited)).toBe(await sent(plain));
        }),
        runs,
      );
    });
  });

  describe("Robustness", () => {
    it("folding, viewing, previewing and judging never throw, whatever the entries are", () => {
      fc.assert(
        fc.property(fc.array(fc.oneof(strangeEntry, fc.json()), { maxLength: 12 }), (lines) => {
          for (const { fold } of lived(loggedOf(lines))) {
            const view = fold.view();
            expect(violations(view.messages, { end: "any" })).toEqual([]);
            fold.preview(fold.path.entries);
          }
        }),
        runs,
      );
    });
  });
});

function textOf(expanded: Awaited<ReturnType<typeof expand>>): string {
  return "bytes" in expanded ? new TextDecoder().decode(expanded.bytes) : expanded.kind;
}

const sampled = (length: number): number[] =>
  [...new Set([1, length >> 1, length - 2, length - 1, length])].filter((at) => at >= 1 && at <= length);

/** A boundary without its summary has no effect, and the summary of the next one would be taken for its own. */
const withSummary = (edit: EditMove): EditMove => (edit.do === "boundary" ? { ...edit, summary: "next" } : edit);

async function sent(writer: HistoryWriter): Promise<string> {
  const deps = { blobs: await blobsWith(writer.blobs.values()) };
  const opened = await openLog(deps, { source: sourceOf(bytesOf(writer.lines)), origin: "ours" });
  return JSON.stringify(opened.fold.view().messages);
}

const small = fc.constantFrom<unknown[]>("a", "b", "c", "", 1, null, [], {}, true);
const strangeBlock = fc.record(
  {
    type: fc.constantFrom("text", "thinking", "tool_use", "tool_result", "image", "mcp_tool_use", "x", 1),
    text: small,
    thinking: small,
    signature: small,
    id: small,
    name: small,
    input: small,
    tool_use_id: small,
    content: fc.oneof(small, fc.array(fc.record({ type: small, text: small }, { requiredKeys: [] }), { maxLength: 2 })),
  },
  { requiredKeys: ["type"] },
);
const strangeEntry = fc
  .record(
    {
      type: fc.constantFrom(
        "user",
        "assistant",
        "system",
        "attachment",
        "clear",
        "snip",
        "collapse",
        "leave-out",
        "undo",
        "repair",
        "pin",
        "offload",
        "branch",
        "origin",
        "x",
      ),
      subtype: fc.constantFrom("compact_boundary", "microcompact_boundary"),
      uuid: small,
      parentUuid: small,
      logicalParentUuid: small,
      isSidechain: small,
      isCompactSummary: small,
      message: fc.oneof(
        small,
        fc.record(
          {
            id: small,
            model: small,
            content: fc.oneof(small, fc.array(fc.oneof(strangeBlock, small), { maxLength: 3 })),
          },
          { requiredKeys: [] },
        ),
      ),
      attachment: fc.oneof(small, fc.record({ type: small, content: small }, { requiredKeys: [] })),
      results: fc.oneof(
        small,
        fc.array(fc.record({ toolUse: small, shown: small }, { requiredKeys: [] }), { maxLength: 2 }),
      ),
      entries: fc.array(small, { maxLength: 2 }),
      span: fc.record({ from: small, to: small }),
      shown: small,
      edit: small,
      entry: small,
      cause: fc.constantFrom("size", "x"),
      compactMetadata: fc.oneof(
        small,
        fc.record(
          {
            preservedSegment: fc.record({ headUuid: small, tailUuid: small }),
            direction: fc.constant("from"),
            pivot: small,
          },
          { requiredKeys: [] },
        ),
      ),
    },
    { requiredKeys: ["type"] },
  )
  .map((entry) => JSON.stringify(entry));
