import type { FrozenParts } from "../cache/baseline.ts";
import type { SystemOption } from "../context/inputs.ts";
import { toJsonObject, type Provider } from "../context/provider-formats.ts";
import { type JsonObject, textField } from "../schema/json.ts";
import type { ContextOptions } from "./options.ts";

/** What all requests begin with. */
export function buildParts<P extends Provider>({
  model,
  thinking,
  tools = [],
  system = [],
}: ContextOptions<P>): FrozenParts {
  return {
    model,
    betas: [],
    ...(thinking === undefined ? {} : { thinking: toJsonObject(thinking) }),
    tools: toolDefinitions(tools.map((tool) => toJsonObject(tool))),
    system: buildSystem(system),
  };
}

export const buildSystem = (system: SystemOption): FrozenParts["system"] =>
  (typeof system === "string" ? [system] : system).map((part, at) => ({
    name: `system ${at + 1}`,
    text: typeof part === "string" ? part : part.text,
  }));

export const toolDefinitions = (tools: readonly JsonObject[]): FrozenParts["tools"] =>
  tools.map((tool) => ({ ...tool, name: textField(tool, "name") ?? "" }));
