import type { ToolOption } from "palimpsest/internal/context/inputs";
import {
  isArray,
  isObject,
  type Json,
  type JsonObject,
  textField,
  wellFormedJson,
} from "palimpsest/internal/schema/json";
import type { FieldChanges } from "../body/write-body.ts";
import { additionalTools, toolName } from "../recognise/read-identity.ts";
import { memoryTool, type MemoryToolDeps } from "./memory-tool.ts";
import { type OwnTool, ownToolNames } from "./own-tools.ts";
import { recallTool } from "./recall-tool.ts";
import type { ToolBook } from "./tool-book.ts";
import { ToolDeferral } from "./tool-deferral.ts";
import type { WireFormat } from "./wire-format.ts";

interface ToolsInput extends Pick<MemoryToolDeps, "now"> {
  readonly provider: string;
  readonly session?: string | undefined;
  readonly store?: MemoryToolDeps["store"] | undefined;
  readonly client?: MemoryToolDeps["client"];
  readonly toolUse?: { readonly book: ToolBook; readonly who: string } | undefined;
  readonly reduction: Readonly<Record<"recall" | "memory" | "deferTools", "on" | "off">>;
}

/** The tools of a conversation's requests: the client's, some of them deferred, and our own behind them. */
export class ConversationTools {
  readonly #format: WireFormat;
  readonly #own: readonly OwnTool[];
  readonly #deferral: ToolDeferral | undefined;
  /** The client's tools with ours, as they are sent: tens of kilobytes that seldom change. */
  #encoded:
    | { readonly tools: Json; readonly forced: string | undefined; readonly marks: MarkUse; readonly bytes: Uint8Array }
    | undefined;

  constructor(format: WireFormat, options: ToolsInput) {
    const { provider, reduction, store, client, now, toolUse, session } = options;
    this.#format = format;
    this.#own = [
      ...(reduction.recall === "on" ? [recallTool] : []),
      ...(reduction.memory === "on" && store !== undefined ? [memoryTool({ store, client, now })] : []),
    ];
    this.#deferral =
      provider !== "anthropic" || reduction.deferTools === "off" || toolUse === undefined
        ? undefined
        : new ToolDeferral({ ...toolUse, conversation: session ?? "" });
  }

  /** Before a request is written. `elements`: the whole list; what stands before `unchanged` was looked at before. */
  look(
    tools: Json | undefined,
    list: { readonly elements: readonly { readonly value: JsonObject }[]; readonly unchanged: number },
  ): void {
    if (this.#deferral === undefined) return;
    const isAnswered = list.elements.some(({ value }) => textField(value, "role") === "assistant");
    this.#deferral.look(tools, {
      elements: list.elements.slice(list.unchanged).map(({ value }) => value),
      at: isAnswered ? "goes-on" : "begins",
    });
  }

  /** For the context, which counts them. `lead`: elements in front of the list, which may hold tools too. */
  options(tools: Json | undefined, lead: readonly JsonObject[]): readonly ToolOption[] {
    const marked = this.#deferral?.mark(tools) ?? tools;
    const client = [marked, ...lead.map(additionalTools)].flatMap((list) => (isArray(list) ? list : []));
    return [...this.#format.readTools(client), ...this.own(tools).map(({ definition }) => definition)];
  }

  /** None to a request without tools, and none beside a tool of the same name. */
  own(tools: Json | undefined): readonly OwnTool[] {
    if (!isArray(tools) || tools.length === 0) return [];
    const names = new Set(tools.map(toolName));
    const finding = this.#deferral?.tool(tools);
    const own = finding === undefined ? this.#own : [...this.#own, finding];
    return own.filter(({ definition }) => !names.has(definition.name));
  }

  /** What the request has instead of the client's field. `choice`: which tool the model has to call. */
  field(
    tools: Json | undefined,
    { choice, marks }: { readonly choice: Json | undefined; readonly marks: MarkUse },
  ): FieldChanges {
    if (!isArray(tools)) return {};
    const forced = isObject(choice) ? textField(choice, "name") : undefined;
    const known = this.#encoded;
    if (known?.tools !== tools || known.forced !== forced || known.marks !== marks) {
      const own = this.own(tools).map(({ definition }) => this.#format.writeTool(definition));
      if (own.length === 0 && marks === "kept") return {};
      const marked = this.#deferral?.mark(tools, forced) ?? tools;
      const all = [...(isArray(marked) ? marked : tools), ...own];
      const written = marks === "kept" ? all : all.map(withoutMark);
      this.#encoded = { tools, forced, marks, bytes: Buffer.from(wellFormedJson(written)) };
    }
    return this.#encoded === undefined ? {} : { tools: this.#encoded.bytes };
  }
}

/** What becomes of the client's marks for the cache. */
type MarkUse = "kept" | "dropped";

function withoutMark(tool: Json): Json {
  if (!isObject(tool)) return tool;
  const { cache_control: _mark, ...others } = tool;
  return others;
}

/** Also tools that are switched off by now: the transcript may have calls of them. */
export function hiddenTools(tools: Json | undefined): readonly string[] {
  const names = new Set((isArray(tools) ? tools : []).map(toolName));
  return ownToolNames.filter((name) => !names.has(name));
}
