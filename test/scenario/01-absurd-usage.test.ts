import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { called } from "./support/called.ts";
import type { Said } from "./support/command-line.ts";

interface World {
  readonly ask: (words: string, ...options: readonly string[]) => Promise<Said>;
  readonly call: (...args: readonly string[]) => Promise<Said>;
}

/** Each reply of the simulator says that its request had so many times what it had. */
function world(factor: number): World {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "absurd-")));
  const [home, cwd] = [join(folder, "home"), join(folder, "project")];
  for (const one of [home, cwd]) mkdirSync(one);
  const moves = [{ fault: `wrong-usage factor=${factor}` }, { text: "Here I am." }];
  writeFileSync(join(cwd, "absurd.yaml"), JSON.stringify({ name: "absurd", moves }));
  const call: World["call"] = (...args) => called({ home, cwd }, ...args);
  return {
    call,
    ask: (words, ...options) =>
      call("-p", words, "--model", "simulator", "--scenario", join(cwd, "absurd.yaml"), ...options),
  };
}

interface Context {
  readonly used: number;
  readonly countedBy: string;
  readonly doubtedUsage: { readonly counted: number; readonly estimate: number } | null;
}

const contextOf = async ({ call }: World, session: string): Promise<Context> =>
  JSON.parse((await call("context", session, "--json")).out) as Context;

const newest = async ({ call }: World): Promise<string> => {
  const [first] = JSON.parse((await call("sessions", "list", "--json")).out) as { sessionId: string }[];
  return first?.sessionId ?? "";
};

describe("a provider that counts what can't be", () => {
  it.each([60, 900])("%d times what a request had: it is told once, and the session goes on", async (factor) => {
    const at = world(factor);
    const first = await at.ask("Are you there?");
    expect(first).toMatchObject({ code: 0, out: "Here I am.\n" });
    expect(first.err).toMatch(/^warning: The provider says that a request had [\d,]+ tokens; .* not believed/m);
    const session = await newest(at);
    const context = await contextOf(at, session);
    expect(context).toMatchObject({ countedBy: "estimate" });
    expect(context.used).toBeLessThan(2 * (context.doubtedUsage?.estimate ?? 0));
    expect((await at.call("context", session)).out).toMatch(/about [\d,]+ of [\d,]+ tokens[^]*not believed/);
    expect(await at.ask("And now?", "--continue")).toMatchObject({ code: 0, out: "Here I am.\n" });
    expect(await at.ask("And beside?", "--continue", "--fork")).toMatchObject({ code: 0, out: "Here I am.\n" });
    expect((await contextOf(at, session)).used).toBeLessThan(context.used + 200);
  });

  it("a count that may be right is believed, and nothing is told", async () => {
    const at = world(1.5);
    expect((await at.ask("Are you there?")).err).not.toContain("believed");
    expect(await contextOf(at, await newest(at))).toMatchObject({ countedBy: "usage", doubtedUsage: null });
  });
});
