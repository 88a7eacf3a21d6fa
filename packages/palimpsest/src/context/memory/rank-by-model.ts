import { z } from "zod";
import type { RankMemories } from "../../memory/directory/relevant-memories.ts";
import type { Summariser } from "../../ports/model-port.ts";
import type { JsonObject } from "../../schema/json.ts";
import { tryParseJson } from "../../schema/json.ts";
import { chooseOutputTokensMax, chooseTimeMillisMax } from "../limits.ts";
import { chooseSystem, renderChoice } from "./choose-prompt.ts";

interface RankByModelDeps {
  readonly chooser: Pick<Summariser, "model" | "ask">;
  /** Called for each request that costs something. */
  readonly onPaid: (call: { readonly model: string; readonly usage: JsonObject }) => void;
  /** What counts if the model can't be asked or gives no list. */
  readonly otherwise: RankMemories;
}

/** Ranks by asking a model, which sees the message and the descriptions. What it names besides is ignored. */
export const rankByModel =
  ({ chooser, onPaid, otherwise }: RankByModelDeps): RankMemories =>
  async (message, memories) => {
    const call = {
      system: chooseSystem,
      messages: [{ role: "user", content: [{ type: "text", text: renderChoice(message, memories) }] } as const],
      outputTokensMax: chooseOutputTokensMax,
    };
    const answer = await chooser.ask(call, AbortSignal.timeout(chooseTimeMillisMax));
    for (const usage of [...(answer.wasted ?? []), ...(answer.usage === undefined ? [] : [answer.usage])])
      onPaid({ model: chooser.model, usage });
    const chosen = answer.kind === "answered" ? readPaths(answer.text) : undefined;
    if (chosen === undefined) return otherwise(message, memories);
    const byPath = new Map(memories.map((memory) => [memory.path, memory]));
    return [...new Set(chosen)].flatMap((path) => byPath.get(path) ?? []);
  };

const pathsShape = z.array(z.string());

/** The first list of texts in it. Undefined if there is none: brackets may stand around anything. */
function readPaths(text: string): readonly string[] | undefined {
  for (const [part] of text.matchAll(/\[[^\]]*\]/g)) {
    const paths = pathsShape.safeParse(tryParseJson(part)).data;
    if (paths !== undefined) return paths;
  }
  return undefined;
}
