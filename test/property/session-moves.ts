import * as fc from "fast-check";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import type { SessionFacts } from "../../packages/palimpsest/src/layers/4-compact/facts/session-facts.ts";
import type { Session, SessionDeps } from "../../packages/palimpsest/src/session/session.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import { type EntryId, tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import type { Receipt } from "../../packages/palimpsest/src/schema/receipt.ts";
import type { Draft } from "../../packages/palimpsest/src/transcript/draft.ts";
import { append, call, cleared, offloaded, opened, reopened, reply, result, text, user } from "../fixture/session.ts";

/** Steps of a session of our own, through the door that everybody uses. */
export type SessionMove =
  | { readonly do: "user" | "late" | "attachment" | "settle" | "reopen" | "thinking" }
  | { readonly do: "reply"; readonly calls: number; readonly answered: number; readonly offload: boolean }
  | { readonly do: "clear" | "snip" | "pin" | "unpin"; readonly pick: number }
  | { readonly do: "collapse"; readonly from: number; readonly to: number }
  | {
      readonly do: "compact";
      readonly keeps: "nothing" | "segment" | "front" | "both";
      readonly head: number;
      readonly tail: number;
    }
  | { readonly do: "undo"; readonly pick: number; readonly mode: "path" | "branch" }
  | { readonly do: "rewind"; readonly pick: number };

const pick = fc.nat({ max: 20 });
const of = <const Kind extends string>(kind: Kind) => fc.constant(kind);

export const sessionMove: fc.Arbitrary<SessionMove> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom("user", "user", "late", "attachment", "settle", "reopen", "reopen", "thinking"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: of("reply"),
      calls: fc.nat({ max: 4 }),
      answered: fc.nat({ max: 4 }),
      offload: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("clear", "clear", "snip", "pin", "unpin"), pick }) },
  fc.record({ do: of("collapse"), from: pick, to: pick }),
  {
    weight: 3,
    arbitrary: fc.record({
      do: of("compact"),
      keeps: fc.constantFrom("nothing", "segment", "front", "both"),
      head: pick,
      tail: pick,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: of("undo"), pick, mode: fc.constantFrom("path", "path", "path", "branch") }),
  },
  fc.record({ do: of("rewind"), pick }),
);

interface PlayerOptions {
  /** What boundaries store of the session; nothing where it is absent. */
  readonly factsOf?: (session: Session) => Promise<SessionFacts | undefined>;
}

/** Plays moves on a session; what it may refer to is what the session said it appended. */
export class SessionPlayer {
  session: Session;
  readonly receipts: Receipt[] = [];
  readonly originals = new Map<string, string>();
  readonly #deps: SessionDeps;
  readonly #options: PlayerOptions;
  readonly #entries: EntryId[] = [];
  readonly #edits: EntryId[] = [];
  readonly #calls: string[] = [];
  #serial = 0;

  constructor(deps: SessionDeps, session: Session, options: PlayerOptions = {}) {
    this.#deps = deps;
    this.session = session;
    this.#options = options;
  }

  static async start(deps: SessionDeps, options: PlayerOptions = {}): Promise<SessionPlayer> {
    return new SessionPlayer(deps, await opened(deps), options);
  }

  async play(move: SessionMove): Promise<void> {
    switch (move.do) {
      case "user":
        return this.#say(user(`question ${this.#next()}`));
      case "late":
        return this.#answer(this.#chosen([...this.session.fold.openCalls], 0));
      case "attachment":
        return this.#say({ type: "attachment", attachment: { type: "todo", content: `todo ${this.#next()}` } });
      case "thinking":
        return this.#say(
          reply(
            `msg_${this.#next()}`,
            { type: "thinking", thinking: "hm", signature: `sig${this.#serial}` },
            text("so"),
          ),
        );
      case "settle":
        await this.session.settle();
        return;
      case "reopen":
        this.session = await reopened(this.#deps, this.session);
        return;
      case "reply":
        return this.#reply(move);
      case "clear": {
        const toolUse = this.#chosen(this.#calls, move.pick);
        return toolUse === undefined ? undefined : this.#edit("reduced", cleared(toolUse));
      }
      case "snip":
        return this.#edit("reduced", { type: "snip", entries: [this.#entry(move.pick)] });
      case "pin":
      case "unpin":
        return this.#edit("reduced", { type: move.do, entry: this.#entry(move.pick) });
      case "collapse":
        return this.#edit("summarised", {
          type: "collapse",
          span: { from: this.#entry(move.from), to: this.#entry(move.to) },
          shown: `range ${this.#next()}`,
        });
      case "compact":
        return this.#compact(move);
      case "undo":
        return this.#undo(move);
      case "rewind":
        return this.#say({ ...user(`again ${this.#next()}`), parentUuid: this.#entry(move.pick) });
    }
  }

  async #say(...drafts: readonly Draft[]): Promise<void> {
    this.#entries.push(...(await append(this.session, ...drafts)));
  }

  async #reply({ calls, answered, offload }: Extract<SessionMove, { do: "reply" }>): Promise<void> {
    const id = `msg_${this.#next()}`;
    const ids = Array.from({ length: calls }, () => `toolu_${this.#next()}`);
    this.#calls.push(...ids);
    await this.#say(reply(id, text(`answer ${this.#serial}`)), ...ids.map((one) => reply(id, call(one))));
    for (const one of ids.slice(0, answered)) {
      if (offload) await this.#answerOffloaded(one);
      else await this.#answer(one);
    }
  }

  async #answer(toolUse: string | undefined): Promise<void> {
    if (toolUse === undefined) return;
    const words = `output ${this.#next()} of ${toolUse}`;
    if (!this.originals.has(toolUse)) this.originals.set(toolUse, words);
    await this.#say(result(toolUse, words));
  }

  async #answerOffloaded(toolUse: string): Promise<void> {
    const full = `a very long output ${this.#next()} of ${toolUse}`;
    this.originals.set(toolUse, full);
    const [shown, edit] = await offloaded(this.#deps, toolUse, full);
    if (shown !== undefined) await this.#say(shown);
    if (edit !== undefined) await this.#edit("reduced", edit);
  }

  async #edit(nature: "reduced" | "summarised", draft: Draft): Promise<void> {
    this.#took(await this.session.edit({ drafts: [draft], cause: "asked", nature }));
  }

  async #compact(move: Extract<SessionMove, { do: "compact" }>): Promise<void> {
    const head = this.#entry(move.head);
    const tail = this.#entry(move.tail);
    const facts = await this.#options.factsOf?.(this.session);
    this.#took(
      await appendBoundary(this.#deps, this.session, {
        summary: `summary ${this.#next()}`,
        trigger: "manual",
        ...(facts === undefined ? {} : { facts }),
        ...(move.keeps === "segment" || move.keeps === "both" ? { kept: { head, tail } } : {}),
        ...(move.keeps === "front" || move.keeps === "both" ? { from: head } : {}),
      }),
    );
  }

  async #undo({ pick, mode }: Extract<SessionMove, { do: "undo" }>): Promise<void> {
    const target = this.#chosen(this.#edits, pick);
    if (target === undefined) return;
    const outcome = await undo(this.session, { target, mode, blockingTokens: tokens(1e9), thinking: "free" });
    if (outcome.kind === "failed") throw new Error(outcome.message);
    if (outcome.kind === "undone") for (const receipt of outcome.receipts) this.#edits.push(...receipt.edits);
  }

  #took(edited: Awaited<ReturnType<Session["edit"]>>): void {
    if (edited.kind === "failed") throw new Error(edited.message);
    this.#edits.push(...edited.entries.slice(0, 1));
    this.#entries.push(...edited.entries);
    this.receipts.push(edited.receipt);
  }

  #entry(at: number): EntryId {
    return this.#chosen(this.#entries, at) ?? ("x" as EntryId);
  }

  #chosen<T>(list: readonly T[], at: number): T | undefined {
    return list.length === 0 ? undefined : list[list.length - 1 - (at % list.length)];
  }

  #next(): number {
    this.#serial += 1;
    return this.#serial;
  }
}
