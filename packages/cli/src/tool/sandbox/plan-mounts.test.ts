import { expect, test, onTestFinished } from "vitest";
import type { SandboxLimits } from "palimpsest/internal/ports/sandbox";
import { sandboxMountsMax } from "./limits.ts";
import { type PathState, planMounts, MountPoints } from "./plan-mounts.ts";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";

const nothing: SandboxLimits = {
  strength: "workspace",
  writable: [],
  protected: [],
  hidden: [],
  shown: [],
  temporary: "/tmp/own",
  network: { kind: "off" },
};

/** What is not in `there` is a folder if its name has no dot behind its first letter, else a file. */
function plan(limits: Partial<SandboxLimits>, there: Readonly<Record<string, PathState>> = {}) {
  const whole = { ...nothing, ...limits };
  const paths = [...whole.writable, ...whole.protected, ...whole.hidden, ...whole.shown];
  const stateOf = (path: string): PathState => there[path] ?? { kind: /.\.\w+$/.test(path) ? "file" : "folder" };
  const stateByPath = new Map(paths.map((path) => [path, stateOf(path)]));
  const planned = planMounts({ limits: whole, replaced: ["/tmp"], stateByPath });
  return planned.kind === "refused" ? planned.why : planned.mounts.map(({ kind, path }) => `${kind} ${path}`);
}

const missing = (first: string): PathState => ({ kind: "missing", first });

test.each<[string, ReturnType<typeof plan>, readonly string[]]>([
  ["a writable folder", plan({ writable: ["/p"] }), ["writable /p"]],
  ["one in another: once", plan({ writable: ["/p", "/p/a"] }), ["writable /p"]],
  ["a protected file where nothing is writable: none", plan({ protected: ["/p/a.txt"] }), []],
  [
    "a protected file: the folders on the way can't be renamed",
    plan({ writable: ["/p"], protected: ["/p/a/b/c.txt", "/p/a/d.txt"] }),
    ["writable /p", "writable /p/a", "readable /p/a/d.txt", "writable /p/a/b", "readable /p/a/b/c.txt"],
  ],
  [
    "a hidden file in a writable folder: likewise",
    plan({ writable: ["/p"], hidden: ["/p/a/b.txt"] }),
    ["writable /p", "writable /p/a", "closed-file /p/a/b.txt"],
  ],
  [
    "a hidden file elsewhere",
    plan({ writable: ["/p"], hidden: ["/h/a/b.txt"] }),
    ["writable /p", "closed-file /h/a/b.txt"],
  ],
  ["a hidden folder in a hidden one: the outer", plan({ hidden: ["/h/a/b", "/h/a"] }), ["closed-folder /h/a"]],
  ["shown in a hidden folder", plan({ hidden: ["/h"], shown: ["/h/a/b"] }), ["closed-folder /h", "readable /h/a/b"]],
  [
    "hidden in what is shown",
    plan({ hidden: ["/h", "/h/a/b"], shown: ["/h/a"] }),
    ["closed-folder /h", "readable /h/a", "closed-folder /h/a/b"],
  ],
  ["shown where nothing hides it: none", plan({ shown: ["/h/a"], writable: ["/h"] }), ["writable /h"]],
  ["shown in a folder that is replaced", plan({ shown: ["/tmp/a"] }), ["readable /tmp/a"]],
  ["a project in a folder that is replaced", plan({ writable: ["/tmp/p"], shown: ["/tmp/p"] }), ["writable /tmp/p"]],
  [
    "a writable folder in a protected one",
    plan({ writable: ["/p", "/p/.c/w"], protected: ["/p/.c"] }),
    ["writable /p", "readable /p/.c", "writable /p/.c/w"],
  ],
  ["hidden and shown at once: hidden", plan({ hidden: ["/h"], shown: ["/h"] }), ["closed-folder /h"]],
  ["protected and writable at once: protected", plan({ writable: ["/p"], protected: ["/p"] }), []],
  [
    "protected and not there: held by the first folder that is missing, once",
    plan(
      { writable: ["/p"], protected: ["/p/a/b", "/p/a/c"] },
      { "/p/a/b": missing("/p/a"), "/p/a/c": missing("/p/a") },
    ),
    ["writable /p", "held /p/a"],
  ],
  [
    "hidden and not there, where it could be made: held",
    plan({ writable: ["/p"], hidden: ["/p/a"] }, { "/p/a": missing("/p/a") }),
    ["writable /p", "held /p/a"],
  ],
  ["hidden and not there, where it can't be made: none", plan({ hidden: ["/h/a"] }, { "/h/a": missing("/h/a") }), []],
  [
    "a name that git can't bear as a folder: held by a file",
    plan({ writable: ["/p"], protected: ["/p/commondir"] }, { "/p/commondir": missing("/p/commondir") }),
    ["writable /p", "held-file /p/commondir"],
  ],
])("%s", (_, mounts, expected) => {
  expect(mounts).toEqual(expected);
});

test.each<[string, ReturnType<typeof plan>, RegExp]>([
  [
    "a link can be replaced",
    plan({ writable: ["/p"], protected: ["/p/a"] }, { "/p/a": { kind: "link" } }),
    /symbolic link/,
  ],
  [
    "a link that is to be hidden",
    plan({ writable: ["/p"], hidden: ["/p/a"] }, { "/p/a": { kind: "link" } }),
    /symbolic link/,
  ],
  [
    "what can't be looked at may be there",
    plan({ writable: ["/p"], hidden: ["/p/a/b"] }, { "/p/a/b": { kind: "unknown" } }),
    /can't be looked at/,
  ],
  [
    "more than a limit",
    plan({ hidden: Array.from({ length: sandboxMountsMax + 1 }, (_, at) => `/h/${at}`) }),
    /more than/,
  ],
])("is refused: %s", (_, why, expected) => {
  expect(why).toMatch(expected);
});

async function points() {
  const folder = await temporaryFolder();
  const at = (name: string): string => join(folder, name);
  return { at, points: new MountPoints(at("claims")) };
}

test("the last command that needs one removes it, and leaves nothing on record", async () => {
  const { at, points: own } = await points();
  const first = own.hold([{ path: at("a") }, { path: at("b"), content: "." }]);
  const second = own.hold([{ path: at("a") }]);
  expect([at("a"), at("b")].map(own.look())).toEqual([true, true]);
  first();
  expect([existsSync(at("a")), existsSync(at("b"))]).toEqual([true, false]);
  second();
  second();
  expect(existsSync(at("a"))).toBe(false);
  expect(readdirSync(at("claims"))).toEqual([]);
});

test("what was there, or came to be, stays", async () => {
  const { at, points: own } = await points();
  const release = own.hold([{ path: at("a") }, { path: at("b"), content: "." }]);
  writeFileSync(at("a/file"), "");
  writeFileSync(at("b"), "other");
  release();
  expect([existsSync(at("a/file")), existsSync(at("b"))]).toEqual([true, true]);
});

test("another process that runs keeps it, one that has ended does not", async () => {
  const { at, points: own } = await points();
  const process = spawn("sleep", ["60"]);
  onTestFinished(() => void process.kill("SIGKILL"));
  const release = own.hold([{ path: at("a") }]);
  const [claims = ""] = readdirSync(at("claims"));
  writeFileSync(at(`claims/${claims}/${process.pid}`), "");
  release();
  expect(existsSync(at("a"))).toBe(true);
  expect(own.look()(at("a"))).toBe(true);
  const ended = new Promise((resolve) => process.once("exit", resolve));
  process.kill("SIGKILL");
  await ended;
  expect(own.look()(at("a"))).toBe(false);
  own.hold([{ path: at("a") }])();
  expect(existsSync(at("a"))).toBe(false);
});

test("what can't be made lets go of the others", async () => {
  const { at, points: own } = await points();
  mkdirSync(at("there"));
  expect(() => own.hold([{ path: at("a") }, { path: at("none/b") }])).toThrow("ENOENT");
  expect(existsSync(at("a"))).toBe(false);
});
