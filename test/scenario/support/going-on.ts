import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { called } from "./called.ts";
import type { Said } from "./command-line.ts";

interface Category {
  readonly name: string;
  readonly tokens: number;
  readonly blocks: number;
}

interface Context {
  readonly used: number;
  readonly categories: readonly Category[];
}

interface Sizes {
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** What each command says of the size of one session. Undefined where a command refused. */
export interface GoneOn {
  /** By the provider, reply included; undefined where the simulator does not play the session's model. */
  readonly counted: number | undefined;
  readonly context: Context;
  readonly preview: Sizes | undefined;
  readonly compacted: Sizes | undefined;
  readonly contextCompacted: Context;
  readonly undone: number | undefined;
  readonly contextUndone: Context;
  /** Of the next request behind the compaction, by the ledger just before it and by the provider. */
  readonly next: { readonly expected: number; readonly counted: number | undefined } | undefined;
}

const speech = "name: work\nmoves:\n  - text: I go on.\n";
const summary = `name: summary
moves:
  - text: |
      <analysis>I look back.</analysis>
      <summary>
      ## Primary Request and Intent
      The work goes on as it was asked for.
      </summary>
`;

/** Imports a recorded session, has one turn in it, compacts it, undoes that, and does it again, asking for sizes all the way. */
export async function goOnWith(file: string): Promise<GoneOn> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "going-on-")));
  const [home, cwd] = [join(folder, "home"), join(folder, "project")];
  for (const one of [home, cwd]) mkdirSync(one);
  writeFileSync(join(cwd, "speech.yaml"), speech);
  writeFileSync(join(cwd, "summary.yaml"), summary);
  const call = (...args: readonly string[]): Promise<Said> => called({ home, cwd }, ...args);
  try {
    const { imported } = parsed<{ imported: readonly { session: string }[] }>(
      await call("sessions", "import", file, "--json"),
    );
    const session = imported[0]?.session ?? "";
    const simulated = (scenario: string): readonly string[] => [
      "--model",
      "simulator",
      "--scenario",
      join(cwd, scenario),
    ];
    const turn = async (words: string): Promise<number | undefined> =>
      countedIn(
        await call("-p", words, "--resume", session, "--output-format", "stream-json", ...simulated("speech.yaml")),
      );
    const contextNow = async (): Promise<Context> => parsed<Context>(await call("context", session, "--json"));
    const compact = async (...options: readonly string[]): Promise<Sizes | undefined> =>
      parsedIfFine<Sizes>(await call("compact", session, "--json", ...options, ...simulated("summary.yaml")));
    const counted = await turn("Go on, please.");
    const context = await contextNow();
    const preview = await compact("--preview");
    const compacted = await compact("--yes");
    const contextCompacted = await contextNow();
    const undo = parsedIfFine<{ tokens: number; undos: readonly string[] }>(await call("undo", session, "--json"));
    const contextUndone = await contextNow();
    const back = undo?.undos[0];
    if (back !== undefined) await call("undo", session, back, "--json");
    const expected = (await contextNow()).used;
    const next =
      counted === undefined || compacted === undefined ? undefined : { expected, counted: await turn("On.") };
    return { counted, context, preview, compacted, contextCompacted, undone: undo?.tokens, contextUndone, next };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Sizes of one view that differ by more than 2 %, categories that do not sum, text that counts nothing. One line each. */
export function wrongSizes({
  counted,
  context,
  preview,
  compacted,
  contextCompacted,
  undone,
  contextUndone,
}: GoneOn): string[] {
  const pairs: readonly (readonly [string, number | undefined, number | undefined])[] = [
    ["context and the provider", context.used, counted],
    ["context and preview", context.used, preview?.tokensBefore],
    ["preview and compact, before", preview?.tokensBefore, compacted?.tokensBefore],
    ["preview and compact, after", preview?.tokensAfter, compacted?.tokensAfter],
    ["compact and context", compacted?.tokensAfter, compacted === undefined ? undefined : contextCompacted.used],
    ["undo and what was before", undone, compacted === undefined ? undefined : compacted.tokensBefore],
    ["undo and context", undone, contextUndone.used],
  ];
  const apart = pairs.flatMap(([what, one, other]) =>
    one === undefined || other === undefined || Math.abs(one - other) <= 0.02 * other
      ? []
      : [`${what}: ${one}, ${other}`],
  );
  const contexts = Object.entries({ context, contextCompacted, contextUndone });
  const sums = contexts.flatMap(([name, { used, categories }]) =>
    categories.reduce((sum, { tokens }) => sum + tokens, 0) === used ? [] : [`the categories of ${name} do not sum`],
  );
  const nothing = contexts.flatMap(([name, { categories }]) =>
    categories.flatMap((one) =>
      one.tokens > 0 ? [] : [`${name}: ${one.name} of ${one.blocks} blocks counts nothing`],
    ),
  );
  return [...apart, ...sums, ...nothing];
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
const parsedIfFine = <Shape>(said: Said): Shape | undefined =>
  said.code === 0 ? (JSON.parse(said.out) as Shape) : undefined;

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
function parsed<Shape>(said: Said): Shape {
  if (said.code !== 0) throw new Error(said.err);
  return JSON.parse(said.out) as Shape;
}

interface ReplyEnd {
  readonly kind: string;
  readonly usage?: Readonly<Record<string, number>>;
}

function countedIn({ out }: Said): number | undefined {
  const events = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as ReplyEnd);
  const usage = events.findLast(({ kind }) => kind === "reply-end")?.usage;
  if (usage === undefined) return undefined;
  return ["input", "cacheRead", "cacheWrite", "output"].reduce((sum, name) => sum + (usage[name] ?? 0), 0);
}
