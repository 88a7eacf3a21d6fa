import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../../../test/contract/temporary-folder.ts";
import { MountPoints } from "./mount-points.ts";

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
