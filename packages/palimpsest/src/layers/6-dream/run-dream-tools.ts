import { z } from "zod";
import type { SeenPassage } from "../../memory/audit/removal-reasons.ts";
import type { DraftDirectory } from "../../memory/directory/draft-directory.ts";
import { runMemoryCommand } from "../../memory/directory/memory-tool.ts";
import type { ForkTool } from "../../ports/fork.ts";
import type { MemoryProvenance } from "../../ports/memories.ts";
import type { SearchHit, SearchOptions, SearchOutcome } from "../../ports/session-search.ts";
import type { ToolOutcome, ToolPlan } from "../../ports/tool.ts";
import { millis } from "../../schema/brand.ts";
import { textField } from "../../schema/json.ts";
import { oneLine } from "../../text/to-printable.ts";
import { dreamHitsMax, dreamQueriesMax, dreamQueryCharsMax } from "./limits.ts";

/** Searches the transcripts of all sessions. Undefined if they can't be searched now. */
export type SearchTranscripts = (options: SearchOptions) => Promise<SearchOutcome | undefined>;

/** Narrow questions to the transcripts: so many, with so many passages each. What was found counts as seen. */
export class DreamRecall {
  readonly #search: SearchTranscripts | undefined;
  readonly #passages = new Map<string, SeenPassage>();
  #queries = 0;

  constructor(search: SearchTranscripts | undefined) {
    this.#search = search;
  }

  get passages(): readonly SeenPassage[] {
    return [...this.#passages.values()];
  }

  get queries(): number {
    return this.#queries;
  }

  /** The answer as the model reads it. */
  async ask(query: string): Promise<string> {
    if (this.#search === undefined) return "There are no transcripts to search.";
    if (this.#queries >= dreamQueriesMax) return `All ${dreamQueriesMax} questions have been asked.`;
    this.#queries += 1;
    const hits = await this.find(query);
    return hits.length === 0 ? "Nothing was found." : hits.map(renderHit).join("\n");
  }

  /** Without the limit on questions. */
  async find(query: string): Promise<readonly SearchHit[]> {
    const asked = query.slice(0, dreamQueryCharsMax);
    const outcome = await this.#search?.({ query: asked, pageSize: dreamHitsMax }).catch(() => undefined);
    if (outcome?.kind !== "found") return [];
    const hits = outcome.hits.slice(0, dreamHitsMax);
    for (const hit of hits) this.#passages.set(`${hit.session?.id ?? ""} ${hit.id} ${hit.snippet}`, toPassage(hit));
    return hits;
  }
}

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

interface DreamToolsInput {
  readonly memory: string;
  readonly recall: string | undefined;
  readonly draft: DraftDirectory;
  readonly transcripts: DreamRecall;
  readonly provenance: () => MemoryProvenance;
  /** Called after each call that may have changed the draft. */
  readonly onWrite: () => void;
}

/** What the parent's tools of these names do in a dream. */
export const dreamTools = (input: DreamToolsInput): readonly ForkTool[] => [
  { name: input.memory, plan: async (command) => planMemory(input, command) },
  ...(input.recall === undefined
    ? []
    : [{ name: input.recall, plan: async (query: unknown) => planRecall(input, query) }]),
];

function planMemory(
  { draft, provenance, onWrite }: DreamToolsInput,
  command: Parameters<ForkTool["plan"]>[0],
): ToolPlan {
  const name = textField(command, "command");
  return {
    kind: "ready",
    acts: name === "view" ? [] : [{ kind: "state", what: "memory" }],
    run: async () => {
      const { text, isError } = await runMemoryCommand({ memories: draft, author: "dream", provenance }, command);
      if (name !== "view" && !isError) onWrite();
      return { content: text, isError, summary: name ?? "memory" };
    },
  };
}

const queryShape = z.object({ query: z.string().min(1) });

function planRecall({ transcripts }: DreamToolsInput, input: unknown): ToolPlan {
  const read = queryShape.safeParse(input);
  if (!read.success) return { kind: "wrong", message: "Here it takes a query: no transcript is opened whole." };
  return {
    kind: "ready",
    acts: [],
    run: async (): Promise<ToolOutcome> => ({ content: await transcripts.ask(read.data.query), summary: "searched" }),
  };
}
