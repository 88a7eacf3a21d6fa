import type { JsonObject } from "palimpsest/internal/schema/json";
import { storedResponseCharsMax, storedResponsesMax } from "../limits.ts";
import { LruMap } from "palimpsest/internal/cache/lru-map";
import type { Item, Part } from "./open-ai-request.ts";
import type { OutputItem } from "./output.ts";

/** What one response added to a conversation, and the link before it. */
export interface ConversationLink {
  readonly previous: ConversationLink | undefined;
  readonly input: readonly Item[];
  readonly output: readonly OutputItem[];
}

export interface StoredResponse {
  readonly workspace: string;
  readonly link: ConversationLink;
  readonly body: JsonObject;
}

/**
 * Responses that a later request may continue from, and the items in them that it may name. Each holds what it added
 * and points at the link before it: memory grows with the conversation, not with its square. A link is held as long as
 * any response after it; everything else of a response is dropped with the response.
 */
export class ResponseStore {
  readonly #byId: LruMap<string, StoredResponse>;
  readonly #itemById = new Map<string, StoredItem>();
  /** How many responses and later links hold it. */
  readonly #holdersByLink = new Map<ConversationLink, number>();
  readonly #charsMax: number;
  #chars = 0;

  constructor(
    limits: { readonly responsesMax: number; readonly charsMax: number } = {
      responsesMax: storedResponsesMax,
      charsMax: storedResponseCharsMax,
    },
  ) {
    this.#byId = new LruMap(limits.responsesMax);
    this.#charsMax = limits.charsMax;
  }

  /** Characters of everything that is held: never more than the limit. */
  get chars(): number {
    return this.#chars;
  }

  find(id: string, workspace: string): StoredResponse | undefined {
    const found = this.#byId.get(id);
    return found?.workspace === workspace ? found : undefined;
  }

  item(id: string, workspace: string): Item | undefined {
    const found = this.#itemById.get(id);
    return found?.workspace === workspace ? found.item : undefined;
  }

  add(id: string, response: StoredResponse): void {
    this.#hold(response.link);
    this.#chars += bodyChars(response);
    for (const item of response.link.output)
      this.#itemById.set(item.id, { item: asInput(item), workspace: response.workspace });
    this.#drop(this.#byId.set(id, response));
    while (this.#chars > this.#charsMax && this.#byId.oldest !== undefined) this.delete(this.#byId.oldest);
  }

  delete(id: string): void {
    this.#drop(this.#byId.take(id));
  }

  #drop(response: StoredResponse | undefined): void {
    if (response === undefined) return;
    this.#chars -= bodyChars(response);
    for (const { id } of response.link.output) this.#itemById.delete(id);
    this.#release(response.link);
  }

  #hold(link: ConversationLink): void {
    for (let current: ConversationLink | undefined = link; current !== undefined; current = current.previous) {
      const holders = this.#holdersByLink.get(current) ?? 0;
      this.#holdersByLink.set(current, holders + 1);
      // It already holds the links before it.
      if (holders > 0) return;
      this.#chars += linkChars(current);
    }
  }

  #release(link: ConversationLink): void {
    for (let current: ConversationLink | undefined = link; current !== undefined; current = current.previous) {
      const holders = (this.#holdersByLink.get(current) ?? 1) - 1;
      if (holders > 0) {
        this.#holdersByLink.set(current, holders);
        return;
      }
      this.#holdersByLink.delete(current);
      this.#chars -= linkChars(current);
    }
  }
}

interface StoredItem {
  readonly item: Item;
  readonly workspace: string;
}

/** The whole conversation up to and including a response. */
export function listConversation(last: ConversationLink): readonly Item[] {
  const links: ConversationLink[] = [];
  for (let link: ConversationLink | undefined = last; link !== undefined; link = link.previous) links.push(link);
  return links.toReversed().flatMap(({ input, output }) => [...input, ...output.map(asInput)]);
}

/** The model's output, as a client would send it back. */
function asInput(item: OutputItem): Item {
  switch (item.kind) {
    case "message":
      return { kind: "message", role: "assistant", parts: [{ kind: "text", text: item.text }], id: item.id };
    case "call":
      return item;
    case "reasoning":
      return { kind: "reasoning", id: item.id, sealed: item.sealed };
    case "compaction":
      return { kind: "compaction", sealed: item.sealed };
  }
}

const bodyChars = ({ body }: StoredResponse): number => JSON.stringify(body).length;

const linkChars = ({ input, output }: ConversationLink): number =>
  [...input, ...output.map(asInput)].reduce((sum, item) => sum + itemChars(item), 0);

function itemChars(item: Item): number {
  switch (item.kind) {
    case "message":
    case "output":
      return item.parts.reduce((sum, part) => sum + partChars(part), aroundChars);
    case "call":
      return item.arguments.length + item.name.length + aroundChars;
    case "reasoning":
    case "compaction":
      return (item.sealed?.length ?? 0) + aroundChars;
    case "tools":
      return JSON.stringify(item.tools).length + aroundChars;
    case "compaction-trigger":
    case "reference":
      return aroundChars;
  }
}

function partChars(part: Part): number {
  switch (part.kind) {
    case "text":
      return part.text.length + aroundChars;
    case "image":
      return part.url.length + aroundChars;
    case "file":
      return part.data.length + part.name.length + aroundChars;
  }
}

/** Estimate for kinds, roles and ids. */
const aroundChars = 50;
