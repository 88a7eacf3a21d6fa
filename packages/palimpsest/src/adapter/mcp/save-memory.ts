import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { type MemoryDraft, planSave } from "../../memory/directory/memory-history.ts";
import { readMemories } from "../../memory/directory/read-memories.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { MemoriesDep, MemoryCommitOutcome } from "../../ports/memories.ts";
import { oneLine } from "../../text/to-printable.ts";
import { answer, problem } from "./answer.ts";
import { clientNameCharsMax, saveAttemptsMax } from "./limits.ts";

interface SaveInput {
  readonly draft: MemoryDraft;
  /** The program that wrote it. */
  readonly client: string;
}

/**
 * What another program's model wrote is nobody's word: it is always untrusted, and it never replaces a memory that is
 * trusted, since that would take the user's own words out of later sessions.
 */
export async function saveMemory(
  { memories, now }: MemoriesDep & ClockDep,
  { draft, client }: SaveInput,
): Promise<CallToolResult> {
  if (draft.name.trim() === "" || draft.body.trim() === "")
    return problem("A memory needs a name and a text", "Give both.");
  for (let attempt = 0; ; attempt += 1) {
    const existing = await readMemories(memories);
    const plan = planSave(draft, existing);
    if (plan.kind === "duplicate")
      return answer(`${plan.path} says this already; nothing was saved.`, { outcome: "duplicate", path: plan.path });
    const { path } = plan.change;
    if (existing.some((memory) => memory.path === path && memory.trust === "trusted"))
      return problem(
        `${path} has this name and is trusted: only the user changes it`,
        `Save it under another name, or ask the user to run \`palimpsest memory edit ${path}\`.`,
      );
    const outcome = await memories.commit({
      author: "agent",
      provenance: { at: now(), trust: "untrusted", client },
      message: `${plan.kind === "new" ? "save" : "update"} ${oneLine(draft.name)}`,
      changes: [plan.change],
    });
    // Somebody else saved at the same time: what is there now decides.
    if (outcome.kind === "conflict" && attempt < saveAttemptsMax) continue;
    if (outcome.kind !== "committed") return saveProblem(outcome);
    const { id } = outcome.revision;
    const isNew = plan.kind === "new";
    return answer(
      `${isNew ? "Saved as" : "Replaced"} ${path}, revision ${id}. It is untrusted, so that models get it as a quotation, until the user runs \`palimpsest memory edit --trust ${path}\`.`,
      { outcome: isNew ? "saved" : "replaced", path, revision: id, trust: "untrusted" },
    );
  }
}

function saveProblem(outcome: Exclude<MemoryCommitOutcome, { kind: "committed" }>): CallToolResult {
  switch (outcome.kind) {
    case "unchanged":
      return problem("The memory says this already", "Nothing has to be done.");
    case "conflict":
      return problem("Other writers changed the memory again and again", "Try again later.");
    case "refused": {
      const found = outcome.secrets.map(({ kind, line }) => (line === 0 ? kind : `${kind} in line ${line}`));
      return problem(
        `Nothing was saved: it contains what looks like a secret (${found.join(", ")})`,
        "Leave it out: say where it is kept instead.",
      );
    }
    case "invalid":
      return problem(`Nothing was saved: ${outcome.message.replace(/\.$/, "")}`, "Change the name or the text.");
    case "busy":
      return problem("Nothing was saved: other programs write to the memories", "Try again in a minute.");
    case "failed":
      return problem(
        `Nothing was saved: ${outcome.message.replace(/\.$/, "")}`,
        "Tell the user; nothing else was changed.",
      );
  }
}

/** As a program calls itself, in characters that mean nothing to anybody. */
export function formatClientName(name: string | undefined): string {
  const plain = (name ?? "")
    .replaceAll(/[^\p{L}\p{N} ._@/-]+/gu, " ")
    .trim()
    .slice(0, clientNameCharsMax);
  return plain === "" ? "unknown client" : plain;
}
