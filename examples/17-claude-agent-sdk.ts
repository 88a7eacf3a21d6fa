import { fileStore } from "palimpsest";
import { agentSessions } from "palimpsest/claude-agent-sdk";
import { simulatedAgentSdk } from "./agent-sdk.ts";

const { query, claude, sessionsFolder, name, close } = await simulatedAgentSdk();
console.log(`with ${name}`);
const texts = [1, 2, 3, 4, 5, 6].map(
  (text) => `The code word of text ${text} is periwinkle-${text}. ${`Line of text ${text}. `.repeat(9_000)}`,
);
const prompts = [...texts, "What was the code word of text 1?"];
const store = fileStore({ folder: sessionsFolder });

const memory = agentSessions({ store }); // without a store: the project of the current folder
let session: string | undefined;
for (const prompt of prompts)
  for await (const message of query({ prompt, options: { ...(await memory.options()), ...claude, resume: session } }))
    if (message.type === "result") {
      session = message.session_id;
      console.log(message.result);
    }

for (const { kind, cause, receipt } of await memory.receipts(session ?? ""))
  console.log(kind, cause ?? "", `${receipt?.tokensBefore} to ${receipt?.tokensAfter} tokens`);
const [hit] = await memory.recall("code word of text 2", { session, kind: "user" });
console.log(hit?.snippet.slice(0, 60));
await close();
