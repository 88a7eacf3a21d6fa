import { mkdirSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { called } from "./support/called.ts";

it("the simulator answers in an imported session of a model that it does not play", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "going-on-")));
  const at = { home: join(folder, "home"), cwd: join(folder, "project") };
  for (const one of [at.home, at.cwd]) mkdirSync(one);
  const recorded = join(import.meta.dirname, "../fixture/import/codex.jsonl");
  const imported = await called(at, "sessions", "import", recorded, "--json");
  const [, session = ""] = /"session":"([^"]+)"/.exec(imported.out) ?? [];
  const before = JSON.parse((await called(at, "context", session, "--json")).out) as { readonly model: string };
  expect(before.model).toBe("loaf-1");
  const turn = await called(at, "-p", "Are you there?", "--resume", session, "--model", "simulator");
  expect(turn.code).toBe(0);
  expect(turn.out).toContain("Are you there?");
});
