import { expect, it } from "vitest";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { exchangeUnderKills, findFaults } from "./support/mail-peers.ts";

it("three processes that are killed at random lose no message, handle none twice and keep each sender's order", async () => {
  const size = { peers: 3, count: 200 };
  const report = await exchangeUnderKills({ folder: await temporaryFolder(), ...size, killEvery: 80 });
  expect(findFaults(report, size)).toEqual([]);
  expect(report.kills).toBeGreaterThan(1);
});
