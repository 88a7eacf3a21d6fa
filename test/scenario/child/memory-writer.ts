import { randomUUID } from "node:crypto";
import { millis } from "palimpsest/internal/schema/brand";
import { fileMemories } from "palimpsest/internal/store/files/file-memories";

/**
 * A process that adds lines to one memory: `node memory-writer.ts <folder> <name> <count>`. Each line is added to the text
 * that was read, so that an update would be lost if a commit did not check what it replaces.
 */
const [, , folder = "", name = "", count = "0"] = process.argv;
const memories = fileMemories({ deps: { now: () => millis(Date.now()), uuid: randomUUID }, folder });
let conflicts = 0;

for (let line = 0; line < Number(count);) {
  const seen = await memories.read("shared.md");
  const outcome = await memories.commit({
    author: "agent",
    provenance: { at: millis(Date.now()), trust: "trusted" },
    message: `${name} ${line}`,
    changes: [
      { path: "shared.md", expected: seen?.hash ?? "absent", text: `${seen?.text ?? ""}${name} ${line}\n` },
      { path: `${name}.md`, expected: "any", text: `${line}\n` },
    ],
  });
  if (outcome.kind === "committed") {
    // The parent kills this process at some such line.
    process.stdout.write(`${line}\n`);
    line += 1;
  } else if (outcome.kind === "conflict") conflicts += 1;
  else throw new Error(JSON.stringify(outcome));
}
process.stdout.write(`conflicts ${conflicts}\n`);
