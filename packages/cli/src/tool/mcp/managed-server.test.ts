import { expect, test } from "vitest";
import type { StdioServer } from "palimpsest/internal/schema/server-definition";
import { resolveLaunch } from "./managed-server.ts";

const server = (parts: Partial<StdioServer>): StdioServer => ({
  kind: "stdio",
  name: "a",
  command: "serve",
  args: [],
  env: {},
  ...parts,
});

test("a server sees the variables that its definition names, and a few that every program needs", () => {
  const env = { PATH: "/bin", HOME: "/h", TOKEN: "t-123456", ANTHROPIC_API_KEY: "k", OTHER: "o" };
  const ready = resolveLaunch(server({ env: { KEY: "${TOKEN}", MODE: "x" } }), env);
  expect(ready).toMatchObject({
    kind: "ready",
    launch: { env: { PATH: "/bin", HOME: "/h", KEY: "t-123456", MODE: "x" } },
  });
  expect(JSON.stringify(ready)).not.toContain("ANTHROPIC");
  expect(JSON.stringify(ready)).not.toContain("OTHER");
});

test.each<[string, Partial<StdioServer>, object]>([
  ["in a command", { command: "${DIR}/serve" }, { command: "/d/serve" }],
  ["in arguments", { args: ["--root=${DIR}", "${NONE:-otherwise}"] }, { args: ["--root=/d", "otherwise"] }],
  ["an empty one otherwise", { args: ["${NONE:-}"] }, { args: [""] }],
  ["nothing else that looks like one", { args: ["$DIR", "$(DIR)"] }, { args: ["$DIR", "$(DIR)"] }],
])("variables are put in: %s", (_, parts, expected) => {
  expect(resolveLaunch(server(parts), { DIR: "/d" })).toMatchObject({
    kind: "ready",
    launch: { definition: expected },
  });
});

test("a variable that is not there is told by its name, and nothing is started", () => {
  expect(resolveLaunch(server({ env: { KEY: "${TOKEN}" }, args: ["${A}"] }), {})).toEqual({
    kind: "missing",
    variables: ["TOKEN", "A"],
  });
});

test("no value that was put in is shown in what a server says", () => {
  const ready = resolveLaunch(
    { kind: "http", name: "a", url: "https://x.test/${PATH_KEY}", headers: { Authorization: "Bearer ${TOKEN}" } },
    { TOKEN: "secret-token", PATH_KEY: "path-key" },
  );
  if (ready.kind !== "ready") throw new Error("it is ready");
  expect(ready.masked("401 for Bearer secret-token, secret-token at https://x.test/path-key")).toBe(
    "401 for [secret], [secret] at https://x.test/[secret]",
  );
});
