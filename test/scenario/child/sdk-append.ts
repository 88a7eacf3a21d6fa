/** Appends entries as the Claude Agent SDK does, and says after each that it is stored, until it is killed. */
import { writeSync } from "node:fs";
import { agentSessions } from "../../../packages/palimpsest/src/adapter/claude-agent-sdk/index.ts";
import { fileStore } from "../../../packages/palimpsest/src/store/files/store.ts";

const [folder = ""] = process.argv.slice(2);
const { sessionStore } = agentSessions({ store: fileStore({ folder }) });
for (let n = 0; n < 10_000; n += 1) {
  const entry = { type: "user", uuid: `entry-${n}`, message: { role: "user", content: "word ".repeat(n % 500) } };
  await sessionStore.append({ projectKey: "p", sessionId: "killed" }, [entry]);
  writeSync(1, `${entry.uuid}\n`);
}
