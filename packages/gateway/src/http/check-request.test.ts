import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { isOnThisMachine } from "./check-request.ts";

const isHere = (remoteAddress: string, headers: Readonly<Record<string, string>> = {}): boolean =>
  isOnThisMachine({
    headers: { host: "127.0.0.1:8789", ...headers },
    socket: Object.defineProperty(new Socket(), "remoteAddress", { value: remoteAddress }),
  });

describe("a client is taken to be on this machine", () => {
  it.each(["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"])("at the address %s", (address) => {
    expect(isHere(address)).toBe(true);
  });

  it.each(["192.0.2.7", "::ffff:192.0.2.7", "fe80::1", "1127.0.0.1", "::12", ""])(
    "not at the address %s",
    (address) => {
      expect(isHere(address)).toBe(false);
    },
  );

  it.each([{ host: "gateway.example.org" }, { forwarded: "for=192.0.2.7" }, { "x-forwarded-for": "192.0.2.7" }])(
    "not behind a proxy on it: %j",
    (headers) => {
      expect(isHere("127.0.0.1", headers)).toBe(false);
    },
  );
});
