import { readMemories } from "palimpsest/internal/memory/directory/read-memories";
import { millis } from "palimpsest/internal/schema/brand";
import { createSecretScanner } from "../../host/secret-scanner.ts";
import { command } from "../../program/command.ts";
import { exitCode } from "../../program/failure.ts";
import { writeRefusal } from "../../memory/change-memory.ts";
import {
  claudeMemoryFolder,
  importedFrom,
  leaveOutRefused,
  planImport,
  readClaudeMemories,
} from "../../memory/claude-memories.ts";
import { openMemories } from "../../memory/open-memories.ts";
import { quantity } from "../../text/format.ts";

export const importCommand = command({
  name: "import",
  summary: "bring Claude Code's memories of this project over",
  options: {
    trust: {
      type: "boolean",
      summary: "you have read them and vouch for them: the model gets them as memories, not as quotations",
    },
    "dry-run": { type: "boolean", summary: "only say what would be imported" },
  },
  json: "folder; imported, same, kept: paths; leftOut (path, why); trust",
  details: [
    "Claude Code's folder is only read. A memory that is here under the same name and was not imported stays as it is; one with a secret in it is left out.",
    "Nobody recorded where these memories came from, so they are untrusted unless you say --trust.",
  ],
  run: async (context, { options, format }) => {
    const opened = await openMemories(context);
    if (opened.kind === "failure") return opened;
    const { memories, root } = opened;
    const folder = claudeMemoryFolder({ env: context.env, root });
    const ours = await readMemories(memories);
    const trust = options.trust ? "trusted" : "untrusted";
    const plan = planImport(await readClaudeMemories(folder), { ours, trust });
    const { changes, leftOut } = await leaveOutRefused(createSecretScanner(), plan.changes);
    if (changes.length > 0 && !options["dry-run"]) {
      const outcome = await memories.commit({
        author: "user",
        message: `imported from ${importedFrom}`,
        provenance: { at: millis(Date.now()), trust, importedFrom },
        changes,
      });
      if (outcome.kind !== "committed" && outcome.kind !== "unchanged") return writeRefusal(outcome);
    }
    const imported = changes.map(({ path }) => path);
    if (format === "json")
      await context.out.json({ folder, imported, same: plan.same, kept: plan.kept, leftOut, trust });
    else {
      const verb = options["dry-run"] ? "would import" : "imported";
      const lines = [
        imported.length + plan.same.length + plan.kept.length + leftOut.length === 0
          ? `There are no memories in ${folder}.`
          : `${verb} ${quantity(imported.length, "memory")} from ${folder}${imported.length > 0 ? `, ${trust}: ${imported.join(", ")}` : ""}`,
        ...(plan.same.length === 0 ? [] : [`already here: ${plan.same.join(", ")}`]),
        ...(plan.kept.length === 0 ? [] : [`left out, because this project has its own: ${plan.kept.join(", ")}`]),
        ...leftOut.map(({ path, why }) => `left out: ${path}: ${why}`),
      ];
      await context.out.write(`${lines.join("\n")}\n`);
    }
    return exitCode.fine;
  },
});
