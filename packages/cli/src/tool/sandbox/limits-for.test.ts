import { expect, test } from "vitest";
import { computeSandboxLimits, type SandboxPlaces } from "./session-sandbox.ts";

const places: SandboxPlaces = {
  roots: ["/p"],
  secrets: ["/tmp/home/.ssh", "/home/ann/.ssh"],
  protected: [],
  unchanged: [],
  tools: [],
  named: [],
  asked: [],
  temporary: "/own",
};
const shown = (...named: readonly string[]) =>
  computeSandboxLimits({ strength: "read-only", places: { ...places, named }, network: { kind: "off" } }).shown;

test("a file of the system's temporary folder that a command names is shown to it", () => {
  expect(shown("/tmp/notes.txt", "/var/tmp/x", "/tmp", "/etc/hosts")).toEqual(["/p", "/tmp/notes.txt", "/var/tmp/x"]);
});

test("a secret is hidden from a command that names it, also where the home folder is a temporary one", () => {
  expect(shown("/tmp/home/.ssh/id", "/tmp/home/.ssh", "/home/ann/.ssh/id")).toEqual(["/p"]);
});

test("a file that a rule asked about is shown to the command that names it", () => {
  const asked = ["/p/secret/key"];
  const limits = computeSandboxLimits({
    strength: "read-only",
    places: { ...places, asked },
    network: { kind: "off" },
  });
  expect(limits.shown).toEqual(["/p", "/p/secret/key"]);
});
