import type { MemoryText } from "palimpsest/internal/ports/memories";
import { command, type CommandContext } from "../../program/command.ts";
import { editText } from "../../program/edit-text.ts";
import { exitCode, failure, type Failure } from "../../program/failure.ts";
import { readPipe } from "../../program/read-pipe.ts";
import { commitAsUser, writeRefusal } from "../../memory/change-memory.ts";
import { findWholeName } from "../../memory/find-memory.ts";
import { openMemories } from "../../memory/open-memories.ts";
import { memoryTemplate } from "../../memory/user-memory.ts";
import { millis } from "palimpsest/internal/schema/brand";

export const editCommand = command({
  name: "edit",
  summary: "change a memory in your editor, or create one",
  operands: {
    memory: {
      shown: "memory",
      summary: "its whole path (`.md` may be left out) or whole name; any other path creates one",
    },
  },
  options: { trust: { type: "boolean", summary: "change nothing: you have read it and vouch for what it says" } },
  details: [
    "VISUAL or EDITOR is opened. A text on stdin replaces the memory without an editor.",
    "What you write is trusted, and with --trust what is there already: the model then gets it as a memory, not as a quotation.",
    "A text with a secret is refused (exit code 5), and so is one that somebody else changed meanwhile.",
    "What an editor or a program writes into the folder itself while a session is open is not trusted: a command of the agent may have done it.",
  ],
  run: async (context, { operands, options }) => {
    const opened = await openMemories(context);
    if (opened.kind === "failure") return opened;
    const { memories } = opened;
    const found = await findWholeName(memories, operands.memory);
    if (found.kind === "failure" && found.code !== exitCode.notFound) return found;
    const memory = found.kind === "found" ? await memories.read(found.memory.path) : undefined;
    const path = memory?.path ?? (operands.memory.endsWith(".md") ? operands.memory : `${operands.memory}.md`);
    const change = options.trust
      ? confirm(memory, found)
      : await readChange(context, memory?.text ?? memoryTemplate(operands.memory));
    if (change.kind === "failure") return change;
    const outcome = await commitAsUser(memories, {
      changes: [{ path, expected: memory?.hash ?? "absent", text: change.text }],
      message: `${memory === undefined ? "created" : change.verb} by the user`,
      at: millis(Date.now()),
    });
    if (outcome.kind === "unchanged") {
      await context.err.write("Nothing was changed.\n");
      return exitCode.fine;
    }
    if (outcome.kind !== "committed") return writeRefusal(outcome);
    await context.err.write(
      `${path}: revision ${outcome.revision.id}. \`palimpsest memory revert ${outcome.revision.id}\` takes it back.\n`,
    );
    return exitCode.fine;
  },
});

interface UserText {
  readonly kind: "text";
  readonly text: string;
  readonly verb: "edited" | "confirmed";
}

/** The text that is there: writing it again vouches for it. */
const confirm = (
  memory: MemoryText | undefined,
  found: Awaited<ReturnType<typeof findWholeName>>,
): UserText | Failure =>
  memory === undefined
    ? found.kind === "failure"
      ? found
      : failure({ code: exitCode.notFound, message: `${found.memory.path} is gone` })
    : { kind: "text", text: memory.text, verb: "confirmed" };

/** From a pipe, else from the editor. */
async function readChange(context: CommandContext, before: string): Promise<UserText | Failure> {
  const piped = await readPipe(context.stdin, "optional");
  const change =
    piped.trim() === ""
      ? await editText(context, before, { fileName: "memory.md", name: "memory" })
      : { kind: "edited" as const, text: piped };
  if (change.kind === "unchanged") return failure({ code: exitCode.negative, message: change.message });
  return { kind: "text", text: `${change.text.trimEnd()}\n`, verb: "edited" };
}
