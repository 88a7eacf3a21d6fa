import type { SystemPiece } from "palimpsest/internal/cache/baseline";
import type { Instruction } from "palimpsest/internal/memory/instructions";
import type { PromptChoice } from "palimpsest/internal/schema/prompt-choice";
import { choosePrompt } from "./choose.ts";
import { type EnvironmentFacts, environmentText } from "./environment.ts";

export interface SystemPromptInput {
  /** The setting `systemPrompts`. */
  readonly choices: readonly PromptChoice[];
  readonly environment: EnvironmentFacts;
  /** Broad to narrow. */
  readonly instructions: readonly Instruction[];
}

/**
 * The system prompt, piece by piece, what changes least first: the prompt is the same for every session, the
 * environment for this one, and instructions may be read anew at a compaction. Rendered then and at the start only.
 */
export const renderSystemPrompt = ({
  choices,
  environment,
  instructions,
}: SystemPromptInput): readonly SystemPiece[] => [
  { name: promptPiece, text: choosePrompt(environment.model, choices) },
  { name: environmentPiece, text: environmentText(environment) },
  ...instructions.filter(({ text }) => text !== "").map((one) => ({ name: one.path, text: instructionText(one) })),
];

export const promptPiece = "prompt";
export const environmentPiece = "environment";

const instructionText = ({ path, scope, text, importedBy }: Instruction): string =>
  `# Instructions from ${path}
(${saysWho[scope]}${importedBy === undefined ? "" : `; imported by ${importedBy}`})

${text}`;

const saysWho: { readonly [Scope in Instruction["scope"]]: string } = {
  user: "the user's own, for all projects",
  project: "for everybody in this project",
  local: "the user's own, for this project",
};
