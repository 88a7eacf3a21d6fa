import { expect, it } from "vitest";
import { formatAddress, parseAddress, parseReceiver, senderTeam } from "./agent-address.ts";
import { mailboxAddress } from "./brand.ts";

it.each([
  ["*", { kind: "all" }],
  ["reviewer", { kind: "name", name: "reviewer" }],
  ["reviewer@docs", { kind: "teammate", name: "reviewer", team: "docs" }],
  ["bridge:1b9e-7", { kind: "session", session: "1b9e-7" }],
  ["uds:/run/a b.sock", { kind: "socket", path: "/run/a b.sock" }],
])("%s is an address", (text, receiver) => expect(parseReceiver(text)).toEqual(receiver));

it.each([
  "",
  ".hidden",
  "a/b",
  "../up",
  "a b",
  "bridge:",
  "bridge:../x",
  "uds:relative",
  "uds:/a\0b",
  "@t",
  "a@",
  "a@b@c",
])("%j is none", (text) => expect(parseReceiver(text)).toEqual({ kind: "unreadable" }));

it("names too long for a folder are none", () => {
  expect(parseReceiver("a".repeat(65))).toEqual({ kind: "unreadable" });
  expect(parseAddress(`bridge:${"a".repeat(181)}`)).toBeUndefined();
});

it("an address is written as it is read", () => {
  for (const text of ["a@t", "bridge:s1", "uds:/x"]) {
    const address = parseAddress(text);
    expect(address === undefined ? undefined : formatAddress(address)).toBe(text);
  }
});

it("the agents of a session are its team", () => {
  expect(["a@t", "bridge:s1", "uds:/x"].map((text) => senderTeam(mailboxAddress(text)))).toEqual([
    "t",
    "s1",
    undefined,
  ]);
});
