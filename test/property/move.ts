import * as fc from "fast-check";
import type { LeftOutPart } from "../../packages/palimpsest/src/schema/edit.ts";

/**
 * One small step of a generated history. `pick…` chooses among what the history holds so far (modulo its number), so
 * that a move always means something and a failing list of moves shrinks by leaving moves out.
 */
export type Move =
  | { readonly do: "user"; readonly form: "string" | "blocks" | "empty" | "blank" | "image" | "odd" | "none" | "meta" }
  | ReplyMove
  | { readonly do: "more"; readonly pick: number; readonly part: Part | "call" }
  | { readonly do: "result"; readonly pick: number; readonly form: ResultForm }
  | {
      readonly do:
        | "orphan"
        | "early-result"
        | "error"
        | "sidechain"
        | "new-root"
        | "missing-parent"
        | "own-parent"
        | "later-parent";
    }
  | { readonly do: "attachment"; readonly form: (typeof attachmentForms)[number] }
  | { readonly do: "noise"; readonly form: (typeof noiseForms)[number] }
  | { readonly do: "rewind" | "duplicate-uuid"; readonly pick: number }
  | EditMove;

export interface ReplyMove {
  readonly do: "reply";
  readonly parts: readonly Part[];
  readonly calls: readonly CallPlan[];
  readonly layout: "whole" | "split" | "interleaved";
  /** Where a result hangs: on the entry before it, or on the entry of its call, as parallel calls are logged. */
  readonly parents: "chain" | "call";
  readonly order: "as-called" | "reversed" | "together";
  readonly id: "given" | "none";
}
export interface CallPlan {
  readonly result: ResultForm | "never" | "twice";
  readonly id: "plain" | "odd" | "repeated";
}
export type Part = "text" | "blank" | "thinking" | "unsigned" | "redacted" | "unknown" | "server-tool";
export type ResultForm =
  | "text"
  | "blocks"
  | "empty"
  | "missing"
  | "error"
  | "with-text"
  | "offloaded"
  | "offloaded-blocks"
  | "odd-part";

export type EditMove =
  | {
      readonly do: "offload" | "clear" | "microcompact" | "snip";
      readonly picks: readonly number[];
      readonly attachments: readonly number[];
    }
  | { readonly do: "collapse"; readonly from: number; readonly to: number }
  | { readonly do: "pin" | "unpin" | "undo" | "branch"; readonly pick: number }
  | { readonly do: "repair"; readonly of: "open" | "picked"; readonly pick: number }
  | BoundaryMove
  | { readonly do: "setting"; readonly value: number }
  | { readonly do: "leave-out"; readonly part: LeftOutPart; readonly picks: readonly number[] }
  | { readonly do: "server-edits"; readonly pick: number };

export interface BoundaryMove {
  readonly do: "boundary";
  readonly summary: "next" | "never" | "after-edit" | "after-talk";
  readonly keeps: "nothing" | "segment" | "messages" | "front" | "front-and-segment" | "unknown";
  readonly head: number;
  readonly tail: number;
}

export const attachmentForms = ["file", "task_reminder", "hook_success", "todo", "queued_command", "blank"] as const;
export const noiseForms = [
  "progress",
  "progress-beside",
  "system",
  "no-uuid",
  "unknown",
  "title",
  "malformed-edit",
  "no-message",
] as const;

const pick = fc.nat({ max: 30 });
const picks = fc.array(pick, { minLength: 1, maxLength: 3 });
const of = <const Kind extends string>(kind: Kind) => fc.constant(kind);

const resultForm: fc.Arbitrary<ResultForm> = fc.oneof(
  { weight: 6, arbitrary: of("text") },
  fc.constantFrom<ResultForm[]>(
    "blocks",
    "empty",
    "missing",
    "error",
    "with-text",
    "offloaded",
    "offloaded-blocks",
    "odd-part",
  ),
);
const part: fc.Arbitrary<Part> = fc.constantFrom(
  "text",
  "thinking",
  "text",
  "blank",
  "unsigned",
  "redacted",
  "unknown",
  "server-tool",
);
const call: fc.Arbitrary<CallPlan> = fc.record({
  result: fc.oneof({ weight: 6, arbitrary: resultForm }, { weight: 2, arbitrary: of("never") }, of("twice")),
  id: fc.oneof({ weight: 12, arbitrary: of("plain") }, of("odd"), of("repeated")),
});

const reply: fc.Arbitrary<ReplyMove> = fc.record({
  do: of("reply"),
  parts: fc.array(part, { maxLength: 3 }),
  calls: fc.oneof({ weight: 3, arbitrary: fc.array(call, { maxLength: 3 }) }, fc.array(call, { maxLength: 8 })),
  layout: fc.constantFrom("whole", "split", "interleaved"),
  parents: fc.constantFrom("chain", "call"),
  order: fc.constantFrom("as-called", "reversed", "together"),
  id: fc.oneof({ weight: 8, arbitrary: of("given") }, of("none")),
});

const boundary: fc.Arbitrary<BoundaryMove> = fc.record({
  do: of("boundary"),
  summary: fc.oneof({ weight: 6, arbitrary: of("next") }, fc.constantFrom("never", "after-edit", "after-talk")),
  keeps: fc.constantFrom("nothing", "segment", "segment", "messages", "front", "front-and-segment", "unknown"),
  head: pick,
  tail: pick,
});

const resultEdit = fc.record({
  do: fc.constantFrom("offload", "clear", "clear", "microcompact", "snip"),
  picks,
  attachments: fc.array(pick, { maxLength: 1 }),
});
const repair = fc.record({ do: of("repair"), of: fc.constantFrom("open", "open", "picked"), pick });

const leftOutPart: fc.Arbitrary<LeftOutPart> = fc.constantFrom("thinking", "media", "other-blocks", "server-summary");

/** Every kind of edit; `undo` names any earlier edit, an undo included. */
export const editMove: fc.Arbitrary<EditMove> = fc.oneof(
  { weight: 4, arbitrary: resultEdit },
  { weight: 3, arbitrary: boundary },
  { weight: 2, arbitrary: fc.record({ do: of("collapse"), from: pick, to: pick }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("undo", "undo", "pin", "unpin"), pick }) },
  { weight: 2, arbitrary: repair },
  fc.record({ do: of("setting"), value: fc.nat({ max: 3 }) }),
  fc.record({ do: of("server-edits"), pick }),
  { weight: 2, arbitrary: fc.record({ do: of("leave-out"), part: leftOutPart, picks }) },
);

/** The turns of a conversation, as a careful writer logs them: no rewinds, no broken parents. */
export const turnMove: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: of("user"),
      form: fc.constantFrom("string", "blocks", "string", "empty", "blank", "image", "odd", "none", "meta"),
    }),
  },
  { weight: 6, arbitrary: reply },
  fc.record({ do: of("more"), pick, part: fc.oneof(part, of("call")) }),
  { weight: 2, arbitrary: fc.record({ do: of("result"), pick, form: resultForm }) },
  fc.record({ do: fc.constantFrom("orphan", "early-result", "error", "sidechain") }),
  fc.record({ do: of("attachment"), form: fc.constantFrom(...attachmentForms) }),
  { weight: 2, arbitrary: fc.record({ do: of("noise"), form: fc.constantFrom(...noiseForms) }) },
);

const branchMove: fc.Arbitrary<Move> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: of("rewind"), pick }) },
  fc.record({ do: of("branch"), pick }),
  fc.record({ do: of("new-root") }),
);

/** What only damage or a careless writer leaves behind. */
const brokenMove: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ do: of("duplicate-uuid"), pick }),
  fc.record({ do: fc.constantFrom("missing-parent", "own-parent", "later-parent") }),
);

export const anyMove: fc.Arbitrary<Move> = fc.oneof(
  { weight: 14, arbitrary: turnMove },
  { weight: 6, arbitrary: editMove },
  { weight: 2, arbitrary: branchMove },
  { weight: 1, arbitrary: brokenMove },
);

/** Without broken identities. */
export const soundMove: fc.Arbitrary<Move> = fc.oneof(
  { weight: 14, arbitrary: turnMove },
  { weight: 6, arbitrary: editMove },
  { weight: 2, arbitrary: branchMove },
);

/** As other tools write them: a call id is used once and before its result, no result was offloaded, a reply goes on behind nothing but its results. */
export const othersTurn = turnMove.map((move): Move => {
  const form = (of: ResultForm): ResultForm => (of === "offloaded" || of === "offloaded-blocks" ? "text" : of);
  if (move.do === "early-result") return { do: "orphan" };
  if (move.do === "more") return { do: "user", form: "string" };
  if (move.do === "result") return { ...move, form: form(move.form) };
  if (move.do !== "reply") return move;
  const calls = move.calls.map(({ id, result }): CallPlan => ({
    id: id === "repeated" ? "plain" : id,
    result: result === "never" || result === "twice" ? result : form(result),
  }));
  return { ...move, calls };
});

/** What other tools log: their edits are boundaries and clears. */
export const othersMove: fc.Arbitrary<Move> = fc.oneof(
  { weight: 12, arbitrary: othersTurn },
  { weight: 3, arbitrary: boundary },
  { weight: 1, arbitrary: fc.record({ do: of("microcompact"), picks, attachments: fc.array(pick, { maxLength: 1 }) }) },
  { weight: 1, arbitrary: fc.record({ do: of("rewind"), pick }) },
);
