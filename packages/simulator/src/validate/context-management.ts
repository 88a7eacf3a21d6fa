import type { ContextEdit } from "palimpsest/internal/schema/wire/context-management";
import { compactTriggerTokensMin } from "../limits.ts";
import { invalid, type Refusal } from "../refusal.ts";
import type { Rule } from "./check-input.ts";

const betaByEdit: Readonly<Record<ContextEdit["type"], string>> = {
  clear_tool_uses_20250919: "context-management-2025-06-27",
  clear_thinking_20251015: "context-management-2025-06-27",
  compact_20260112: "compact-2026-01-12",
};

/** Which edits may be asked for, and in which order. */
export const checkContextManagement: Rule = ({ request, betas }) => {
  const edits = request.context_management?.edits ?? [];
  for (const [at, edit] of edits.entries()) {
    const found = checkBeta(edit, { at, betas }) ?? checkPlace(edits, at) ?? checkTrigger(edit, at);
    if (found !== undefined) return found;
  }
  return undefined;
};

const editPath = (at: number): string => `context_management.edits.${at}`;

/** Without its beta an edit is not known. */
function checkBeta(
  { type }: ContextEdit,
  { at, betas }: { readonly at: number; readonly betas: ReadonlySet<string> },
): Refusal | undefined {
  if (betas.has(betaByEdit[type])) return undefined;
  const known = Object.entries(betaByEdit).flatMap(([name, beta]) => (betas.has(beta) ? [`'${name}'`] : []));
  return invalid(
    `Input tag '${type}' found using 'type' does not match any of the expected tags: ${known.join(", ")}`,
    editPath(at),
  );
}

function checkPlace(edits: readonly ContextEdit[], at: number): Refusal | undefined {
  const type = edits[at]?.type;
  const first = edits.findIndex((edit) => edit.type === type);
  if (first < at) return invalid(`\`${type}\` is listed already, as edit ${first}`, editPath(at));
  return type === "clear_thinking_20251015" && at > 0
    ? invalid("`clear_thinking_20251015` must be the first edit when it is combined with others", editPath(at))
    : undefined;
}

function checkTrigger(edit: ContextEdit, at: number): Refusal | undefined {
  if (edit.type !== "compact_20260112" || (edit.trigger?.value ?? Infinity) >= compactTriggerTokensMin)
    return undefined;
  return invalid(
    `Input should be greater than or equal to ${compactTriggerTokensMin}`,
    `${editPath(at)}.${edit.type}.trigger.value`,
  );
}
