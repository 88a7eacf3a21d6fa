import { applyFixedPart, type NewConversation } from "palimpsest/internal/context/conversation";
import type { Instruction } from "palimpsest/internal/memory/load-instruction-file";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { AgentParts } from "../agent-options.ts";
import type { SessionMemory } from "../memory/session-memory.ts";
import { openServerAnswers, type ServerAnswers } from "../model/server-answers.ts";
import { SessionInstructions } from "../session/session-instructions.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import { freezeBaseline } from "./freeze-baseline.ts";
import { type Prefix, type PrefixInput, renderPrefix } from "./render-prefix.ts";

interface OpenPrefixInput {
  readonly input: PrefixInput;
  readonly box: Pick<Toolbox, "mayRead">;
  readonly picked: Parameters<typeof openServerAnswers>[1]["picked"];
  readonly memory: Pick<SessionMemory, "hear">;
}

interface OpenedPrefix {
  readonly kind: "opened";
  readonly prefix: Prefix;
  readonly instructions: SessionInstructions;
  readonly answers: ServerAnswers;
  readonly fixedPart: Pick<NewConversation, "baseline" | "countedFixed" | "moved">;
}

/** What the session's requests begin with, as it was frozen, and the instruction files that it follows while it runs. */
export async function openPrefix(
  parts: AgentParts,
  { input, box, picked, memory }: OpenPrefixInput,
): Promise<OpenedPrefix | WriteFailure> {
  const { deps, session } = parts;
  const prefix = await renderPrefix(parts, input);
  if (input.settings.current().trust !== "trusted") memory.hear(cloneTexts(prefix.instructions.files));
  const frozen = await freezeBaseline(deps, { session, now: prefix.parts });
  if (frozen.kind === "failed") return frozen;
  const { baseline, moved } = frozen;
  const answers = await openServerAnswers(parts, { baseline, picked });
  const { countedFixed } = answers;
  applyFixedPart(session, { baseline, countedFixed });
  const render = () => renderPrefix(parts, input);
  const instructions = new SessionInstructions({
    deps,
    session,
    source: input.source,
    mayRead: box.mayRead,
    render,
    opening: prefix,
  });
  return { kind: "opened", prefix, instructions, answers, fixedPart: { baseline, countedFixed, moved } };
}

/** Instructions that came with a clone: until the user trusts the project, they are a stranger's words. */
const cloneTexts = (files: readonly Instruction[]): readonly string[] =>
  files.filter(({ scope }) => scope === "project" || scope === "local").map(({ text }) => text);
