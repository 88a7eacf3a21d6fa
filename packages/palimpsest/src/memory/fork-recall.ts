import { z } from "zod";
import type { ForkTool } from "../ports/fork.ts";
import type { SearchHit, SearchOptions, SearchOutcome } from "../ports/session-search.ts";
import { millis } from "../schema/brand.ts";
import { oneLine } from "../text/to-printable.ts";
import type { SeenPassage } from "./audit/removal-reasons.ts";
import { forkQueryCharsMax } from "./limits.ts";

/** Searches the transcripts of all sessions. Undefined if they can't be searched now. */
export type SearchTranscripts = (options: SearchOptions) => Promise<SearchOutcome | undefined>;

interface ForkRecallLimits {
  readonly queriesMax: number;
  /** Passages for each. */
  readonly hitsMax: number;
}

/** Narrow questions of a background fork to the transcripts: so many, with so many passages each. What was found counts as seen. */
export class ForkRecall {
  readonly #search: SearchTranscripts | undefined;
  readonly #limits: ForkRecallLimits;
  readonly #passages = new Map<string, SeenPassage>();
  #queries = 0;

  constructor(search: SearchTranscripts | undefined, limits: ForkRecallLimits) {
    this.#search = search;
    this.#limits = limits;
  }

  get passages(): readonly SeenPassage[] {
    return [...this.#passages.values()];
  }

  get queries(): number {
    return this.#queries;
  }

  /** What the parent's tool of this name does in the fork. */
  tool(name: string): ForkTool {
    return {
      name,
      plan: async (input) => {
        const read = queryShape.safeParse(input);
        if (!read.success) return { kind: "wrong", message: "Here it takes a query: no transcript is opened whole." };
        const { query } = read.data;
        return {
          kind: "ready",
          acts: [],
          run: async () => ({ content: await this.ask(query), summary: "searched" }),
        };
      },
    };
  }

  /** The answer as the model reads it. */
  async ask(query: string): Promise<string> {
    if (this.#search === undefined) return "There are no transcripts to search.";
    const { queriesMax } = this.#limits;
    if (this.#queries >= queriesMax) return `All ${queriesMax} questions have been asked.`;
    this.#queries += 1;
    const hits = await this.find(query);
    return hits.length === 0 ? "Nothing was found." : hits.map(renderHit).join("\n");
  }

  /** Without the limit on questions. */
  async find(query: string): Promise<readonly SearchHit[]> {
    const { hitsMax } = this.#limits;
    const asked = query.slice(0, forkQueryCharsMax);
    const outcome = await this.#search?.({ query: asked, pageSize: hitsMax }).catch(() => undefined);
    if (outcome?.kind !== "found") return [];
    const hits = outcome.hits.slice(0, hitsMax);
    for (const hit of hits) this.#passages.set(`${hit.session?.id ?? ""} ${hit.id} ${hit.snippet}`, toPassage(hit));
    return hits;
  }
}

const queryShape = z.object({ query: z.string().min(1) });

function toPassage({ snippet, kind, at }: SearchHit): SeenPassage {
  const time = at === undefined ? Number.NaN : Date.parse(at);
  // Ellipses mark where a passage was cut out.
  const text = snippet.replaceAll(/^…\s*|\s*…$/gu, "");
  return { text, by: kind === "user" ? "user" : "outside", at: Number.isNaN(time) ? undefined : millis(time) };
}

const speakerByKind: Partial<Record<SearchHit["kind"], string>> = { user: "the user said", reply: "the agent said" };

/** What stands behind a line break could pass for the next hit. */
const renderHit = ({ kind, at, snippet }: SearchHit): string =>
  `- ${at?.slice(0, 10) ?? "undated"}, ${speakerByKind[kind] ?? `${kind}, not the user's words`}: ${JSON.stringify(oneLine(snippet))}`;
