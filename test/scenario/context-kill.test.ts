import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import { expect, it } from "vitest";
import type { Context } from "../../packages/palimpsest/src/context/context.ts";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { fileStore } from "../../packages/palimpsest/src/store/files/store.ts";
import { runNode, type Said } from "./support/command-line.ts";

const script = resolve(import.meta.dirname, "child/context-run.ts");
const preload = `--import=${pathToFileURL(resolve(import.meta.dirname, "child/kill-at.ts")).href}`;
const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), "context-kill-"));

const run = (folder: string, env: Readonly<Record<string, string>>): Promise<Said> =>
  runNode({ home: join(folder, "home"), cwd: folder, env: { NODE_OPTIONS: preload, ...env } }, script, folder);

/** Shown, or brought back by its words or its id. */
const isFound = async (context: Context<"anthropic">, { sent, one }: Sought): Promise<boolean> =>
  sent.includes(one) || (await context.recall(one)).length > 0 || (await context.expand(one)).kind === "result";

interface Sought {
  readonly sent: string;
  readonly one: string;
}

/** Opened again, it can be gone on with, and holds whatever was accepted before the kill. */
async function expectGoesOn(folder: string, accepted: readonly string[]): Promise<void> {
  const tools = [{ name: "read", input_schema: { type: "object" as const } }];
  const client = new Anthropic({ apiKey: "none", maxRetries: 0, fetch: simulatorFetch(new Simulator()) });
  const store = fileStore({ folder });
  const context = await openContext({ model: "claude-sonnet-5-5", tools, session: "work", store });
  await context.user("And on.");
  const { params } = await context.next();
  const sent = JSON.stringify(params.messages);
  for (const one of accepted.filter((what) => !what.startsWith("#")))
    expect({ one, found: await isFound(context, { sent, one }) }).toEqual({ one, found: true });
  for (const said of ["said-1", "said-2"]) expect(sent.split(`"${said}"`).length).toBeLessThanOrEqual(2);
  // The simulator refuses what the provider refuses: calls without a result, results without a call.
  await context.assistant(await client.messages.create(params));
  await context.close();
}

it("a context in files that is killed before or within any write goes on, and nothing that was accepted is lost", async () => {
  const whole = await newFolder();
  const report = join(whole, "changes.json");
  const said = await run(whole, { KILL_REPORT: report });
  expect(said).toMatchObject({ code: 0 });
  expect(said.out.trimEnd().split("\n").slice(-3)).toEqual(["# compacted", "# undone", "# closed"]);
  const changes = JSON.parse(await readFile(report, "utf8")) as string[];
  const points = changes.flatMap((change, at) =>
    change === "write" ? [`${at} before`, `${at} half`] : [`${at} before`],
  );
  // All of them where PALIMPSEST_LONG is set: it takes some minutes.
  const tried = process.env["PALIMPSEST_LONG"] === undefined ? points.filter((_, n) => n % 6 === 0) : points;
  let killed = 0;
  for (let at = 0; at < tried.length; at += 2)
    await Promise.all(
      tried.slice(at, at + 2).map(async (point) => {
        const folder = await newFolder();
        const ended = await run(folder, { KILL_AT: point });
        if (ended.signal === "SIGKILL") killed += 1;
        await expectGoesOn(
          folder,
          ended.out.split("\n").filter((line) => line !== ""),
        );
      }),
    );
  expect(killed).toBeGreaterThan(tried.length * 0.8);
});
