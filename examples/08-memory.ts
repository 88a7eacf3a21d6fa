import { fileWorkingTree, millis, openContext } from "palimpsest";

// Memories outlive the session: in files with `store: fileStore()`, here as long as the store.
const context = await openContext({
  model: "claude-sonnet-5-5",
  workingTree: fileWorkingTree({ deps: { now: () => millis(Date.now()) }, root: ".", programFolders: "" }),
});
const { memory } = context;
if (memory === undefined) throw new Error("this store keeps no memories");

await memory.save({ name: "Indent", description: "How code is indented", type: "feedback", body: "Use tabs." });
await memory.save({ name: "Indent", description: "How code is indented", type: "feedback", body: "Two spaces." });
await memory.tool.run({ command: "create", path: "/memories/deploy.md", file_text: "Deploys run `ci/never.sh`.\n" });
console.log((await memory.index()).text);

for (const { id, author, message } of await memory.log()) console.log(`${id}  ${author}  ${message}`);
console.log((await memory.revert("r2")).kind, (await memory.read("indent.md"))?.text.split("\n").at(-2));
console.log(
  (await memory.save({ name: "Key", description: "", type: "reference", body: `ghp_${"a1B2".repeat(9)}` })).kind,
);
await context.close();
