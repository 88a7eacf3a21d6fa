import { instructionText } from "palimpsest/internal/memory/instruction-text";
import type { SystemPiece } from "palimpsest/internal/cache/baseline";
import type { Instruction } from "palimpsest/internal/memory/load-instruction-file";
import type { PromptChoice, PromptFamily } from "palimpsest/internal/schema/setting-row";
import { systemPrompt } from "./system-prompt.ts";
import { toSingleLine } from "palimpsest/internal/text/to-printable";

/** Facts that hold for a whole session. Frozen at its start: the text precedes every request. */
export interface EnvironmentFacts {
  readonly model: string;
  readonly cwd: string;
  /** As Node names it: `linux`, `darwin`, `win32`. */
  readonly platform: string;
  readonly git: "repository" | "none";
  /** The user's local day when the session started: `2026-11-15`. */
  readonly startedOn: string;
}

export const environmentText = ({ model, cwd, platform, git, startedOn }: EnvironmentFacts): string =>
  `# Environment
- Model: ${toSingleLine(model)}
- Working directory: ${toSingleLine(cwd)}
- Platform: ${toSingleLine(platform)}
- Git repository: ${git === "repository" ? "yes" : "no"}
- This session started on ${toSingleLine(startedOn)}. Later dates are told in reminders.`;

/** The user's local day, as the system prompt and reminders write it: `2026-11-15`. */
export const localDay = (at: number): string => new Date(at).toLocaleDateString("sv-SE");

/** `day` in the same form. */
export const weekday = (day: string): string =>
  new Date(`${day}T00:00:00Z`).toLocaleDateString("en-US", { weekday: "long", timeZone: "UTC" });

interface SystemPromptInput {
  /** The setting `systemPrompts`. */
  readonly choices: readonly PromptChoice[];
  readonly environment: EnvironmentFacts;
  /** Broad to narrow. */
  readonly instructions: readonly Instruction[];
  /** Used instead of the prompt for the model. */
  readonly prompt?: string | undefined;
}

/**
 * The system prompt in pieces, the most stable first: the prompt is the same for every session, the environment for
 * this one, and instructions may be read again at a compaction. Rendered only then and at the start.
 */
export const renderSystemPrompt = ({
  choices,
  environment,
  instructions,
  prompt = choosePrompt(environment.model, choices),
}: SystemPromptInput): readonly SystemPiece[] => [
  { name: promptPiece, text: prompt },
  { name: environmentPiece, text: environmentText(environment) },
  ...instructions
    .filter(({ text }) => text !== "")
    .map((instruction) => ({ name: instruction.path, text: instructionText(instruction) })),
];

export const promptPiece = "prompt";
export const environmentPiece = "environment";

/** Prefixes of model names, without what a gateway or a cloud puts in front of them. */
const families: readonly { readonly id: string; readonly family: PromptFamily }[] = [
  { id: "claude", family: "claude" },
  { id: "gpt", family: "gpt" },
  { id: "chatgpt", family: "gpt" },
  { id: "codex", family: "gpt" },
  { id: "o1", family: "gpt" },
  { id: "o3", family: "gpt" },
  { id: "o4", family: "gpt" },
  { id: "gemini", family: "gemini" },
  { id: "gemma", family: "gemini" },
];

/** The prompt text for a model. The user's choices come before ours; the longest matching prefix wins. */
export function choosePrompt(model: string, choices: readonly PromptChoice[]): string {
  const chosen = longestFor(model, choices);
  if (chosen?.text !== undefined) return chosen.text;
  return systemPrompt(chosen?.family ?? longestFor(model, families)?.family ?? "other");
}

function longestFor<Row extends { readonly id: string }>(model: string, rows: readonly Row[]): Row | undefined {
  const names = [model, model.replace(gatewayPrefix, "")].map((name) => name.toLowerCase());
  return rows
    .filter(({ id }) => names.some((name) => name.startsWith(id.toLowerCase())))
    .toSorted((one, other) => other.id.length - one.id.length)[0];
}

/** `anthropic/claude-…`, `us.anthropic.claude-…`. */
const gatewayPrefix = /^(?:[\w-]+\/)*(?:(?:us|eu|apac|global)\.)?(?:anthropic\.)?/;
