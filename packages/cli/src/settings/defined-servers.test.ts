import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Json, JsonObject } from "palimpsest/internal/schema/json";
import type { Scope } from "palimpsest/internal/settings/resolve-settings";
import { toServerListing } from "palimpsest/internal/schema/server-definition";
import { approveServers } from "./user-settings-file.ts";
import type { LoadedFile } from "./scope-files.ts";
import { parseSettings } from "./parse-settings.ts";
import { combineSettings } from "./read-settings.ts";
import { collectServers, pendingApprovals, readServers } from "./defined-servers.ts";

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");

const defined = (files: Partial<Record<Scope, JsonObject>>, root = "/p") => {
  const read = (["user", "project", "local"] as const).flatMap((scope): readonly LoadedFile[] => {
    const path = scope === "user" ? "/u/settings.json" : `${root}/.palimpsest/settings.${scope}.json`;
    const written = files[scope];
    return written === undefined ? [] : [{ scope, path, state: "read", parsed: parseSettings(written, path) }];
  });
  const { settings, serversByFile, problems } = combineSettings(read, { root: undefined, env: {} });
  const { approvedMcpServers: approved, refusedMcpServers: refused } = settings;
  const all = collectServers({ files: serversByFile, approved: approved.value, refused: refused.value, root, hash });
  return { ...all, settings, problems: [...problems, ...all.problems] };
};

const program = { command: "serve", args: ["--a"], env: { KEY: "v" } };

test("a refusal counts before an approval, of this very definition, and only in the user's own settings", () => {
  const project = { mcpServers: { a: program } };
  const [approval = ""] = defined({ project }).servers.map((server) => server.approval);
  const leaves = (user: JsonObject, more: JsonObject = {}) =>
    defined({ user, project: { ...project, ...more } }).servers.map(({ leave }) => leave);
  const refusal = { refusedMcpServers: [approval] };
  expect(leaves({})).toEqual(["needed"]);
  expect(leaves(refusal)).toEqual(["refused"]);
  expect(leaves({ ...refusal, approvedMcpServers: [approval] })).toEqual(["refused"]);
  expect(leaves({ refusedMcpServers: ["0".repeat(64)] })).toEqual(["needed"]);
  expect(leaves({}, refusal)).toEqual(["needed"]);
  expect(pendingApprovals(defined({ user: refusal, project }))).toEqual([]);
});

test("servers are read as the ecosystem writes them, by name", () => {
  const { servers, problems } = defined({
    user: {
      mcpServers: {
        web: { type: "http", url: "https://x.test/mcp", headers: { A: "b" } },
        old: { type: "sse", url: "${BASE}/sse" },
        files: program,
        bare: { type: "stdio", command: "serve" },
      },
    },
  });
  expect(problems).toEqual([]);
  expect(servers.map(({ definition, leave }) => [definition, leave])).toEqual([
    [{ kind: "stdio", name: "bare", command: "serve", args: [], env: {} }, "given"],
    [{ kind: "stdio", name: "files", ...program }, "given"],
    [{ kind: "sse", name: "old", url: "${BASE}/sse", headers: {} }, "given"],
    [{ kind: "http", name: "web", url: "https://x.test/mcp", headers: { A: "b" } }, "given"],
  ]);
});

test.each<Scope>(["project", "local"])(
  "a server of a %s file waits for the user's approval of this very definition",
  (scope) => {
    const file = (parts: JsonObject = {}): JsonObject => ({ mcpServers: { files: { ...program, ...parts } } });
    const [asked] = defined({ [scope]: file() }).servers;
    expect(asked?.leave).toBe("needed");
    const user = { approvedMcpServers: [asked?.approval ?? ""] };
    const leave = (written: JsonObject, root?: string) => defined({ user, [scope]: written }, root).servers[0]?.leave;
    expect(leave(file())).toBe("given");
    expect(leave({ mcpServers: { files: { env: { KEY: "v" }, args: ["--a"], command: "serve" } } })).toBe("given");
    expect(leave(file({ command: "other" }))).toBe("needed");
    expect(leave(file({ args: ["--b"] }))).toBe("needed");
    expect(leave(file({ env: { KEY: "w" } }))).toBe("needed");
    expect(leave({ mcpServers: { other: program } })).toBe("needed");
    expect(leave(file(), "/q")).toBe("needed");
  },
);

test("a project can't approve of its own servers", () => {
  const written = { mcpServers: { files: program } };
  const approval = defined({ project: written }).servers[0]?.approval ?? "";
  const { servers, problems } = defined({ project: { ...written, approvedMcpServers: [approval] } });
  expect(servers[0]?.leave).toBe("needed");
  expect(problems).toMatchObject([{ key: "approvedMcpServers", severity: "warning" }]);
});

test("a project's server takes the place of none of the user's own, however it is spelled", () => {
  const { servers, problems } = defined({
    user: { mcpServers: { files: program } },
    project: { mcpServers: { FILES: { command: "other" } } },
  });
  expect(servers).toMatchObject([{ scope: "user", definition: { name: "files", command: "serve" } }]);
  expect(problems).toMatchObject([{ key: "mcpServers.FILES", severity: "warning" }]);
});

test.each<[string, Json]>([
  ["a__b", program],
  ["a_", program],
  ["_a", program],
  ["a.b", program],
  ["", program],
  ["a", { command: "" }],
  ["a", { type: "http", url: "file:///etc/passwd" }],
  ["a", { url: "https://x.test" }],
  ["a", { command: "x", env: { KEY: 5 } }],
  ["a", "serve"],
])("a server %j: %j is left out and said, without what it holds", (name, written) => {
  const { servers, problems } = defined({ user: { mcpServers: { [name]: written, good: program } } });
  expect(servers.map(({ definition }) => definition.name)).toEqual(["good"]);
  expect(problems).toMatchObject([{ where: "/u/settings.json", key: `mcpServers.${name}`, severity: "error" }]);
  expect(JSON.stringify(problems)).not.toContain("passwd");
});

test("a name that would drive the terminal is refused, and said without doing so", () => {
  const { servers, problems } = defined({ project: { mcpServers: { "a\x1b[2J\u202E": program } } });
  expect(servers).toEqual([]);
  expect(problems).toMatchObject([{ key: "mcpServers.a\\x1b[2J<U+202E>", severity: "error" }]);
});

test("what is shown of a server holds none of what may be a key", () => {
  const { settings } = defined({
    user: {
      mcpServers: {
        web: { type: "http", url: "https://me:key-1@x.test/mcp?token=key-2", headers: { A: "key-3" } },
        files: { command: "serve", args: ["--token=key-4"], env: { KEY: "key-5" } },
      },
    },
  });
  expect(settings.mcpServers).toEqual({
    value: [
      { id: "web", kind: "http", target: "https://x.test/mcp" },
      { id: "files", kind: "stdio", target: "serve" },
    ],
    source: "user",
    from: "/u/settings.json",
  });
  expect(toServerListing({ kind: "http", name: "a", url: "${BASE}/x?k=1", headers: {} }).target).toBe("${BASE}/x");
});

test("a user who is asked sees all that would run, and what it is given as the project writes it", () => {
  const url = "https://x.test/mcp?a=1";
  const { servers } = defined({
    user: { mcpServers: { mine: program } },
    project: {
      mcpServers: { files: program, web: { type: "http", url, headers: { Authorization: "Bearer ${MY_KEY}" } } },
    },
  });
  expect(pendingApprovals({ servers })).toMatchObject([
    {
      name: "files",
      runs: { kind: "program", command: "serve", args: ["--a"] },
      given: [{ name: "KEY", written: "v", kind: "plain" }],
      takes: [],
    },
    {
      name: "web",
      runs: { kind: "address", url },
      given: [{ name: "Authorization", written: "Bearer ${MY_KEY}", kind: "plain" }],
      takes: ["MY_KEY"],
    },
  ]);
});

test("every variable that would be taken from the user's environment is named, wherever it stands", () => {
  const files = { command: "${A}", args: ["x${B:-y}", "$C"], env: { KEY: "${D}${A}" } };
  const web = { type: "http", url: "https://x.test/${E}", headers: {} };
  const { servers } = defined({ project: { mcpServers: { files, web } } });
  expect(pendingApprovals({ servers }).map(({ takes }) => takes)).toEqual([["A", "B", "D"], ["E"]]);
});

test.each([
  ["PATH", "loader"],
  ["LD_PRELOAD", "loader"],
  ["DYLD_INSERT_LIBRARIES", "loader"],
  ["NODE_OPTIONS", "loader"],
  ["PYTHONPATH", "loader"],
  ["BASH_ENV", "loader"],
  ["npm_config_registry", "loader"],
  ["API_KEY", "plain"],
  ["MY_PATH", "plain"],
])("a variable %s is %s", (name, kind) => {
  const { servers } = defined({ project: { mcpServers: { a: { command: "x", env: { [name]: "v" } } } } });
  expect(pendingApprovals({ servers })[0]?.given).toEqual([{ name, written: "v", kind }]);
});

test("what the user's own file defines is never shown to be approved", () => {
  const { servers } = defined({ user: { mcpServers: { mine: { ...program, env: { KEY: "key-6" } } } } });
  expect(pendingApprovals({ servers })).toEqual([]);
});

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "palimpsest-servers-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

test("the project's .mcp.json counts as a project's file, and only for its servers", async () => {
  const root = await folder();
  const path = join(root, ".mcp.json");
  const other = { permissions: { allow: ["Bash"] }, whatever: 1 };
  await writeFile(path, JSON.stringify({ mcpServers: { files: program, "a b": program }, ...other }));
  const found = await readServers(combineSettings([], { root: undefined, env: {} }), { root, hash });
  expect(found.servers).toMatchObject([
    { definition: { name: "files" }, scope: "project", from: path, leave: "needed" },
  ]);
  expect(found.problems).toMatchObject([{ where: path, key: "mcpServers.a b" }]);
  await writeFile(path, "{");
  expect((await readServers(combineSettings([], { root: undefined, env: {} }), { root, hash })).problems).toMatchObject(
    [{ where: path, severity: "error" }],
  );
});

test("an approval is written into the user's file, and nothing else of it changes", async () => {
  const path = join(await folder(), "settings.json");
  const replaceFile = async (at: string, text: string) => {
    await writeFile(at, text);
    return undefined;
  };
  const approval = hash("a");
  await writeFile(path, '{\n\t"zebra": 1,\n\t"model": "m"\n}\n');
  const approve = () => approveServers({ replaceFile }, { path, approvals: [approval, approval], as: "approved" });
  expect(await approve()).toEqual({ kind: "added" });
  const text = `{\n\t"zebra": 1,\n\t"model": "m",\n\t"approvedMcpServers": [\n\t\t"${approval}"\n\t]\n}\n`;
  expect(await readFile(path, "utf8")).toBe(text);
  expect(await approve()).toEqual({ kind: "known" });
  await writeFile(path, '{"approvedMcpServers": "all"}');
  expect(await approve()).toMatchObject({ kind: "refused" });
});
