import {
  ConversationIndex,
  type ConversationScope,
  scopeName,
  toolsName,
} from "@palimpsest/gateway/internal/recognise/conversation-index";
import { type ListDigests, ListDigester } from "@palimpsest/gateway/internal/recognise/list-digests";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { parametersFor } from "./runs.ts";

const scope: ConversationScope = {
  user: "local",
  project: undefined,
  provider: "anthropic",
  session: undefined,
  agent: undefined,
  hasTools: true,
  toolNames: ["read"],
  system: undefined,
};
const digester = new ListDigester("anthropic");
const digest = (words: readonly string[]): ListDigests =>
  digester.digest(words.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content })));
const digestLast = (words: readonly string[]): string => digest(words).prefixDigests.at(-1) ?? "";

/** One run of a script whose user always says the same. */
interface Run {
  words: readonly string[];
  /** The conversation that it waits for. */
  asked: string | undefined;
}

/** Runs of one client that names no session, and the conversations that they were found to be. */
class Client {
  readonly runs: Run[] = [];
  /** What was found against the law. */
  readonly wrong: string[] = [];
  readonly #index = new ConversationIndex();
  readonly #listsById = new Map<string, string[]>();
  readonly #readReplies = new Set<string>();

  /** The run asks if it has its reply. Otherwise its reply comes, or fails: then it asks the same again. */
  step({ at, reply }: { readonly at: number; readonly reply: string | undefined }): void {
    const run = (this.runs[at] ??= { words: ["go"], asked: undefined });
    if (run.asked === undefined) this.#ask(run);
    else this.#answer(run, run.asked, reply);
  }

  #ask(run: Run): void {
    const digests = digest(run.words);
    const found = this.#index.find(scope, digests, (id) => this.runs.some(({ asked }) => asked === id));
    const id = found.kind === "found" ? found.id : `c${this.#index.size}`;
    if (found.kind === "new")
      this.#index.put({ id, scope: scopeName(scope), tools: toolsName(scope), lists: [], tail: [] });
    if (this.runs.some(({ asked }) => asked === id)) this.wrong.push(`${id} is asked already`);
    const earlier = this.#listsById.get(id) ?? [];
    if (earlier.some((list) => !digests.prefixDigests.includes(list))) this.wrong.push(`${id} is of another run`);
    const list = digests.prefixDigests.at(-1) ?? "";
    this.#listsById.set(id, [...earlier, list]);
    this.#index.addList(id, list, digests);
    this.#readReplies.delete(id);
    if (this.#index.needsReply(id)) this.#readReplies.add(id);
    run.asked = id;
  }

  #answer(run: Run, id: string, reply: string | undefined): void {
    run.asked = undefined;
    if (reply === undefined) return;
    const list = digestLast(run.words);
    this.#index.setReplied(id, list);
    const replied = [...run.words, reply];
    if (this.#readReplies.has(id)) this.#index.setReply(id, { list, replyList: digestLast(replied) });
    this.#listsById.get(id)?.push(digestLast(replied));
    run.words = [...replied, "more"];
  }
}

it("however runs that begin alike take turns, each conversation is one run: no list and no reply of it is left", () => {
  const step = fc.record({
    at: fc.nat({ max: 4 }),
    reply: fc.option(fc.constantFrom("Yes.", "No."), { nil: undefined, freq: 6 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const client = new Client();
      for (const one of steps) client.step(one);
      expect(client.wrong).toEqual([]);
    }),
    parametersFor({ quick: 400, long: 20_000 }),
  );
});
