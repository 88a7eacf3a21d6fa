import Anthropic from "@anthropic-ai/sdk";
import { fileStore, openContext } from "../../../packages/palimpsest/src/index.ts";
import { Simulator, simulatorFetch } from "../../../packages/simulator/src/index.ts";

// A conversation whose user says two things that last; the extraction changes one memory and makes another.
const [folder = ""] = process.argv.slice(2);
const said = "Never push to main without asking me. Always run the linter before you commit.";
const answer = JSON.stringify([
  {
    path: "push.md",
    name: "Push",
    description: "Pushing",
    type: "feedback",
    body: "Never push to main without asking me.",
  },
  {
    path: "lint.md",
    name: "Linter",
    description: "Linter",
    type: "feedback",
    body: "Always run the linter before you commit.",
  },
]);
const responder = {
  name: "extracted",
  respond: ({ request }: { readonly request: { readonly messages: readonly unknown[] } }) => {
    const isDirective = JSON.stringify(request.messages.at(-1)).includes("Look through the conversation above");
    return { move: { kind: "say", blocks: [{ type: "text", text: isDirective ? answer : "Done." }] } } as const;
  },
};
const client = new Anthropic({ apiKey: "none", maxRetries: 0, fetch: simulatorFetch(new Simulator({ responder })) });
const context = await openContext({
  model: "claude-sonnet-5-5",
  store: fileStore({ folder }),
  session: "work",
  background: { extraction: "on" },
  summarizer: ({ params }) => client.messages.create(params),
});
await context.user(said);
await context.assistant(await client.messages.create((await context.next()).params));
await context.close();
process.stdout.write("# closed\n");
