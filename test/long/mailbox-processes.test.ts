import { expect, it } from "vitest";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { exchangeUnderKills, findFaults } from "../scenario/support/mail-peers.ts";

it("ten processes exchange 100,000 messages under random kills: none lost, none handled twice, in order per sender", async () => {
  const size = { peers: 10, count: 10_000 };
  const report = await exchangeUnderKills({ folder: await temporaryFolder(), ...size, killEvery: 500 });
  expect(findFaults(report, size)).toEqual([]);
  expect(report.kills).toBeGreaterThan(100);
});
