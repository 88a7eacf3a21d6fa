import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { FrozenParts } from "palimpsest/internal/cache/baseline";
import { modelName } from "palimpsest/internal/tokens/model-name";
import type { FollowedSettings } from "./follow-settings.ts";
import { sessionStart } from "./session-start.ts";
import { localDay } from "./system-prompt/environment.ts";
import { renderSystemPrompt } from "./system-prompt/render.ts";
import { type LoadedInstructions, loadInstructions } from "palimpsest/internal/memory/instructions";
import { readInstruction } from "palimpsest/internal/memory/read-instruction";
import type { Tool } from "palimpsest/internal/ports/tools";
import { findModel } from "palimpsest/internal/tokens/registry";
import type { Assembling } from "./assembling.ts";
import { instructionPlace } from "./instruction-place.ts";

export interface PrefixInput {
  readonly model: string;
  readonly cwd: string;
  readonly tools: readonly Tool[];
  readonly settings: FollowedSettings;
}

/** What requests would carry besides messages if they were rendered now. */
export async function prefixNow(
  { engine, options, deps, root, session }: Assembling,
  { model, cwd, tools, settings }: PrefixInput,
): Promise<Prefix> {
  const { trust } = settings.current();
  const place = instructionPlace({ engine, env: options.env, cwd, root, trust });
  const instructions = await loadInstructions(readInstruction, place);
  const git = (await isRepository(root)) ? "repository" : "none";
  const startedOn = localDay((await sessionStart(deps, session)) ?? deps.now());
  const environment = {
    model,
    cwd,
    platform: process.platform,
    git,
    startedOn,
  } as const;
  const { value: choices } = settings.current().settings.systemPrompts;
  return {
    parts: {
      model,
      ...thinkingOf(model),
      tools: tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
      system: renderSystemPrompt({ choices, environment, instructions: instructions.files }),
    },
    startedOn,
    instructions,
  };
}

export interface Prefix {
  readonly parts: FrozenParts;
  /** The day that the environment names. */
  readonly startedOn: string;
  readonly instructions: LoadedInstructions;
}

const isRepository = async (root: string): Promise<boolean> =>
  stat(join(root, ".git")).then(
    () => true,
    () => false,
  );

/**
 * Models since 4.6 decide by themselves how much to think. Where thinking is valid only behind the prefix it was made with,
 * the server is asked to leave out what an edit or an undo has cut off from its own, instead of refusing the request.
 */
function thinkingOf(model: string): Pick<FrozenParts, "thinking" | "betas"> {
  if (!/claude/.test(model) || modelName(model).version < 4.06) return { betas: [] };
  if (findModel(model)?.thinking !== "bound") return { betas: [], thinking: { type: "adaptive" } };
  return {
    betas: ["thinking-binding-controls-2026-08-01"],
    thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } },
  };
}
